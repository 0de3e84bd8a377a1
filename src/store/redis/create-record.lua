-- A catalog record, unless it is there.
local kind, id, record, workspace_id, record_id = unpack(ARGV)
if redis.call('HSETNX', at(kind), id, record) == 0 then return 0 end
redis.call('HSET', at(kind), id .. '/version', 1)
redis.call('ZADD', at(kind, 'ids'), 0, id)
publish({ type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return 1
