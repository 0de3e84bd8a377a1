-- A catalog record, created unless it exists.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, channel, workspace_id, record_id, move.
-- Answer: 1 if it was created, 0 if it existed.
--- @include "at"
--- @include "publish"
--- @include "put-move"

if redis.call('HSETNX', at(kind), id, record) == 0 then return 0 end
redis.call('HSET', at(kind), id .. '/version', 1)
redis.call('ZADD', at(kind, 'ids'), 0, id)
put_move(kind, id, move)
publish(channel, { type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return 1
