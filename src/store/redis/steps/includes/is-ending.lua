-- Whether a step ends a session that had not ended.
--- @include "at"

local function is_ending(session, state)
  if state ~= 'ended' and state ~= 'expired' then return false end
  local before = redis.call('HGET', at('session', session), 'state')
  return before ~= 'ended' and before ~= 'expired'
end
