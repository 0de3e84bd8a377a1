-- Stores the events that a webhook wants; none for a webhook that is disabled, and for a record of another kind. With the first
-- enabled webhook, the deadlines of the open sessions are wanted.
--- @include "at"

local function put_wants(kind, id, wants)
  if kind ~= 'webhook' then return end
  if wants == '' then
    redis.call('HDEL', at('wants'), id)
    return
  end
  if redis.call('EXISTS', at('wants')) == 0 then redis.call('SET', at('deadline-fill'), '-') end
  redis.call('HSET', at('wants'), id, wants)
end
