-- Removes the delivery of a webhook that is no longer among the newest ones, unless it is pending.
--- @include "at"
--- @include "drop-delivery"

local function trim_delivery(webhook, id)
  local rank = redis.call('ZREVRANK', at('deliveries', webhook, 'ids'), id)
  if not rank or rank < DELIVERIES_KEPT then return end
  if not redis.call('ZSCORE', at('deliveries', webhook, 'due'), id) then drop_delivery(webhook, id) end
end
