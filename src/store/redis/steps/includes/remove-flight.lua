-- Removes all keys of a turn in flight; the turn's record stays. Publishes the notice that a reader waits for.
--- @include "announce"
--- @include "at"
--- @include "name-slots"

local function remove_flight(session, turn)
  local member, stood = session .. '/' .. turn, redis.call('HMGET', at('flight', session, turn), 'awaited', 'slots', 'awaitedOn')
  if stood[1] then announce(stood[3], stood[1]) end
  redis.call('ZREM', name_slots(stood[2]), member)
  redis.call('ZREM', at('leases'), member)
  redis.call('SREM', at('flights', session), turn)
  redis.call('DEL', at('flight', session, turn), at('output', session, turn))
end
