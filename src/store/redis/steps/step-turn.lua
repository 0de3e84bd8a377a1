-- Stores calls of tools from a place among the turn's calls on, for the turn's owner only, and an earlier message as it is after that. A notice
-- is published only if a reader waits for it.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, from, amends, ...calls.
-- Answer: {'stored', stop} with the request to stop or false, {'fenced'}, or {'hole', count} with how many there are, if the place lies beyond.
--- @include "amend-message"
--- @include "announce"
--- @include "at"
--- @include "int"
--- @include "is-held"

local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return { 'fenced' } end
local stop, awaited, awaited_on, count = unpack(redis.call('HMGET', flight, 'stop', 'awaited', 'awaitedOn', 'calls'))
count = tonumber(count or 0)
if tonumber(from) > count then return { 'hole', count } end
for place = calls_at, #ARGV do redis.call('HSET', flight, 'call/' .. int(from + place - calls_at), ARGV[place]) end
local ends = from + #ARGV - calls_at + 1
if ends > count then redis.call('HSET', flight, 'calls', int(ends)) end
amend_message(session, amends)
if awaited then
  redis.call('HDEL', flight, 'awaited', 'awaitedOn')
  announce(awaited_on, awaited)
end
return { 'stored', stop }
