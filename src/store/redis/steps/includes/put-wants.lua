-- Stores the events that a webhook wants; none for a webhook that is disabled, and for a record of another kind.
--- @include "at"

local function put_wants(kind, id, wants)
  if kind ~= 'webhook' then return end
  if wants == '' then redis.call('HDEL', at('wants'), id) else redis.call('HSET', at('wants'), id, wants) end
end
