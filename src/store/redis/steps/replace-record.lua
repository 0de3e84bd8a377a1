-- Replaces a catalog record if it still has the version that the decision was made on.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, channel, workspace_id, record_id, version, write, move.
-- Answer: the new version; false if another writer has replaced or removed it.
--- @include "at"
--- @include "keep-answer"
--- @include "publish"
--- @include "put-move"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if redis.call('HGET', at(kind), id .. '/version') ~= version then return false end
redis.call('HSET', at(kind), id, record, id .. '/version', version + 1)
put_move(kind, id, move)
keep_answer(write, version + 1)
publish(channel, { type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return version + 1
