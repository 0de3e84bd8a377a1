-- A catalog record removed, and told: whoever sends this again is still the one who removed it.
local kind, id, workspace_id, record_id, write = unpack(ARGV)
local earlier = redis.call('GET', at('write', write))
if earlier then return earlier end
local record = redis.call('HGET', at(kind), id)
if not record then return false end
redis.call('HDEL', at(kind), id, id .. '/version')
redis.call('ZREM', at(kind, 'ids'), id)
if kind == 'key' then redis.call('DEL', at('budget', id)) end
-- A workspace lies apart from what it holds: the mark stays until that is gone as well.
if kind == 'workspace' then redis.call('SADD', at('removals'), record_id) end
once(write, record)
publish({ type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return record
