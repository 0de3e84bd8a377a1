-- Stores an event for each enabled webhook that wants it. The source is the turn or the session whose end it reports. Without an
-- event, or a webhook, nothing is stored.
--- @include "at"
--- @include "trim-delivery"

local function put_deliveries(kind, event, session, source, head, event_at)
  if event == '' then return end
  local wants = redis.call('HGETALL', at('wants'))
  for each = 1, #wants, 2 do
    local webhook = wants[each]
    if wants[each + 1]:find(kind, 1, true) then
      local id = head .. redis.sha1hex(source .. '/' .. webhook):sub(1, 16)
      local key, ids = at('deliveries', webhook), at('deliveries', webhook, 'ids')
      redis.call('HSET', key, id, event, id .. '/state', 'pending 0 ' .. event_at, id .. '/session', session, id .. '/source', source)
      redis.call('ZADD', ids, 0, id)
      redis.call('ZADD', at('deliveries', webhook, 'due'), event_at, id)
      redis.call('SADD', at('deliveries-of', session), source .. ' ' .. webhook .. ' ' .. id)
      local oldest = redis.call('ZREVRANGE', ids, DELIVERIES_KEPT, DELIVERIES_KEPT)[1]
      if oldest then trim_delivery(webhook, oldest) end
    end
  end
end
