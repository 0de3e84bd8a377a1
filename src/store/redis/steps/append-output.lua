-- Appends a piece of output at its position in its turn, for the turn's owner only. A piece may renew its turn's lease, and is
-- answered with a request to stop. A notice is published only if a reader waits for it and may see some of the piece.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, position, count, text, lease.
-- Answer: {'stored', stop} with the request to stop or false (`taken`: nothing is stored), {'fenced'}, or {'hole', position} with where the output ends.
--- @include "announce"
--- @include "at"
--- @include "int"
--- @include "is-held"
--- @include "renew-lease"
--- @include "skip-points"

local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return { 'fenced' } end
local stands = redis.call('HMGET', flight, 'position', 'stop', 'awaited', 'awaitedOn', 'released')
local stored, stop, awaited, released = tonumber(stands[1]), stands[2], stands[3], stands[5]
if stop == 'taken' then return { 'stored', stop } end
if tonumber(position) > stored then return { 'hole', stored } end
if lease ~= '' and not renew_lease(flight, session .. '/' .. turn, lease) then return { 'fenced' } end
local rest, points = skip_points(text, tonumber(count), stored - position)
if points > 0 then
  redis.call('APPEND', at('output', session, turn), rest)
  redis.call('HSET', flight, 'position', int(stored + points))
  if awaited and (not released or tonumber(released) > stored) then
    redis.call('HDEL', flight, 'awaited', 'awaitedOn')
    announce(stands[4], awaited)
  end
end
return { 'stored', stop }
