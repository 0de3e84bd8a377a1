-- Removes a delivery to a webhook, and its entry in the list of its session.
--- @include "at"

local function drop_delivery(webhook, id)
  local key = at('deliveries', webhook)
  local session, source = unpack(redis.call('HMGET', key, id .. '/session', id .. '/source'))
  if not session then return end
  redis.call('HDEL', key, id, id .. '/state', id .. '/session', id .. '/source', id .. '/owner')
  redis.call('ZREM', at('deliveries', webhook, 'ids'), id)
  redis.call('ZREM', at('deliveries', webhook, 'due'), id)
  redis.call('SREM', at('deliveries-of', session), source .. ' ' .. webhook .. ' ' .. id)
end
