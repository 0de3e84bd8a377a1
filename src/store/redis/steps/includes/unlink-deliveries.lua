-- Removes all deliveries of a webhook. Their entries in the lists of sessions stay until these are removed.
--- @include "at"

local function unlink_deliveries(webhook)
  redis.call('HDEL', at('wants'), webhook)
  redis.call('UNLINK', at('deliveries', webhook), at('deliveries', webhook, 'ids'), at('deliveries', webhook, 'due'))
end
