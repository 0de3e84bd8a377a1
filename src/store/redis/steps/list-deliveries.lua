-- Reads the newest deliveries of a webhook.
-- KEYS: the workspace's root.
-- ARGV: webhook.
-- Answer: id, event and state of each.
--- @include "at"

local found = {}
for _, id in ipairs(redis.call('ZREVRANGE', at('deliveries', webhook, 'ids'), 0, DELIVERIES_KEPT - 1)) do
  local stored = redis.call('HMGET', at('deliveries', webhook), id, id .. '/state')
  for _, value in ipairs({ id, stored[1], stored[2] }) do found[#found + 1] = value end
end
return found
