-- Reads deliveries of a webhook in the order of their ids, with the entries of the index in which claims find them; with the first
-- page also entries without a delivery.
-- KEYS: the workspace's root.
-- ARGV: webhook, after, count.
-- Answer: {ids, rows}: how many ids the page has; and id, event, state, session, source and due time of each, false where a field is
--   missing.
--- @include "at"

local key, due = at('deliveries', webhook), at('deliveries', webhook, 'due')
local page, rows = redis.call('ZRANGEBYLEX', at('deliveries', webhook, 'ids'), after, '+', 'LIMIT', 0, count), {}
local function add(id)
  local stored = redis.call('HMGET', key, id, id .. '/state', id .. '/session', id .. '/source')
  rows[#rows + 1] = id
  for field = 1, 4 do rows[#rows + 1] = stored[field] end
  rows[#rows + 1] = redis.call('ZSCORE', due, id)
end
for _, id in ipairs(page) do add(id) end
if after == '-' then
  for _, id in ipairs(redis.call('ZRANGE', due, 0, count - 1)) do
    if not redis.call('ZSCORE', at('deliveries', webhook, 'ids'), id) then add(id) end
  end
end
return { #page, rows }
