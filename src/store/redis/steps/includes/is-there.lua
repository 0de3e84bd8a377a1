-- Whether a session, or a record of another kind, is stored.
--- @include "at"

local function is_there(kind, id)
  if kind == 'session' then return redis.call('EXISTS', at('session', id)) == 1 end
  return redis.call('HEXISTS', at(kind), id) == 1
end
