-- Removes a session with its contents, turns in flight included. Publishes the notice that a follower waits for.
--- @include "announce-move"
--- @include "at"
--- @include "drop-deliveries"
--- @include "remove-flight"

local function remove_session(session)
  local turns = redis.call('SMEMBERS', at('flights', session))
  for _, turn in ipairs(turns) do remove_flight(session, turn) end
  local assistant, awaited = unpack(redis.call('HMGET', at('session', session), 'assistant', 'awaited'))
  if awaited then announce_move(awaited) end
  if assistant then redis.call('ZREM', at('sessions', assistant), session) end
  redis.call('ZREM', at('sessions'), session)
  redis.call('ZREM', at('activity'), session)
  redis.call('ZREM', at('trials'), session)
  redis.call('ZREM', at('desk'), session)
  redis.call('ZREM', at('deadlines'), session)
  drop_deliveries(session, '')
  redis.call('UNLINK', at('session', session), at('messages', session), at('turns', session), at('flights', session), at('history', 'session', session), at('deliveries-of', session))
end
