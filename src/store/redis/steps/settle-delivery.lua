-- Stores the result of an attempt and ends the lease, if the owner still has it.
-- KEYS: the workspace's root.
-- ARGV: webhook, id, owner, write, state, next.
-- Answer: 1; 0 if the owner has lost the lease or the delivery is gone.
--- @include "at"
--- @include "keep-answer"
--- @include "trim-delivery"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
local key, due = at('deliveries', webhook), at('deliveries', webhook, 'due')
if redis.call('HGET', key, id .. '/owner') ~= owner then return 0 end
redis.call('HSET', key, id .. '/state', state)
redis.call('HDEL', key, id .. '/owner')
if next == '' then redis.call('ZREM', due, id) else redis.call('ZADD', due, next, id) end
trim_delivery(webhook, id)
keep_answer(write, 1)
return 1
