-- Stores a session. Beside its record are the fields that lists and sweeps read. Publishes the notice that a follower waits for, if there
-- is one.
--- @include "announce-move"
--- @include "at"

local function put_session(session, version, record, active, expires, state, awaited)
  redis.call('HSET', at('session', session), 'version', version, 'record', record, 'active', active, 'expires', expires, 'state', state)
  redis.call('ZADD', at('activity'), active, session)
  if state == 'ended' or state == 'expired' then
    redis.call('ZREM', at('trials'), session)
    redis.call('ZREM', at('desk'), session)
  end
  if awaited then
    redis.call('HDEL', at('session', session), 'awaited')
    announce_move(awaited)
  end
end
