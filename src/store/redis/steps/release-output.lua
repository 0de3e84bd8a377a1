-- Lets readers see more of a turn's output, for the turn's owner only. A notice is published only if a reader waits for it
-- and sees more.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, points.
-- Answer: 'released' or 'fenced'.
--- @include "announce"
--- @include "at"
--- @include "is-held"

local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return 'fenced' end
local stands = redis.call('HMGET', flight, 'released', 'awaited', 'awaitedOn', 'position')
if not stands[1] or tonumber(points) <= tonumber(stands[1]) then return 'released' end
redis.call('HSET', flight, 'released', points)
if stands[2] and tonumber(stands[1]) < tonumber(stands[4]) then
  redis.call('HDEL', flight, 'awaited', 'awaitedOn')
  announce(stands[3], stands[2])
end
return 'released'
