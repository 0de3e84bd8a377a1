-- Removes the deliveries that report the end of a turn or a session; of all its turns too if no source is named.
--- @include "at"
--- @include "drop-delivery"

local function drop_deliveries(session, source)
  for _, each in ipairs(redis.call('SMEMBERS', at('deliveries-of', session))) do
    local from, webhook, id = each:match('^(%S+) (%S+) (%S+)$')
    if source == '' or from == source then drop_delivery(webhook, id) end
  end
end
