-- Ends pending deliveries of a webhook as failed, at most so many.
-- KEYS: the workspace's root.
-- ARGV: webhook, limit.
-- Answer: how many were pending.
--- @include "at"
--- @include "trim-delivery"

local key, due = at('deliveries', webhook), at('deliveries', webhook, 'due')
local pending = redis.call('ZRANGE', due, 0, limit - 1)
for _, id in ipairs(pending) do
  local attempts = redis.call('HGET', key, id .. '/state'):match('^%S+ (%S+)')
  redis.call('HSET', key, id .. '/state', 'failed ' .. attempts .. ' ')
  redis.call('HDEL', key, id .. '/owner')
  redis.call('ZREM', due, id)
  trim_delivery(webhook, id)
end
return #pending
