-- Makes a delivery due, and ends its lease.
-- KEYS: the workspace's root.
-- ARGV: webhook, id, now_ms.
-- Answer: {event, state}; false if the delivery is unknown.
--- @include "at"

local key = at('deliveries', webhook)
local event, state = unpack(redis.call('HMGET', key, id, id .. '/state'))
if not event then return false end
local pending = 'pending ' .. state:match('^%S+ (%S+)') .. ' ' .. now_ms
redis.call('HSET', key, id .. '/state', pending)
redis.call('HDEL', key, id .. '/owner')
redis.call('ZADD', at('deliveries', webhook, 'due'), now_ms, id)
return { event, pending }
