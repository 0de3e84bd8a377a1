-- Stores a session. Beside its record are the fields that lists and sweeps read.
--- @include "at"

local function put_session(session, version, record, active, expires, state)
  redis.call('HSET', at('session', session), 'version', version, 'record', record, 'active', active, 'expires', expires, 'state', state)
  redis.call('ZADD', at('activity'), active, session)
  if state == 'ended' or state == 'expired' then redis.call('ZREM', at('trials'), session) end
end
