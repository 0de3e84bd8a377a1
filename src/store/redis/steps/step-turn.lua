-- Stores calls of tools from a place among the turn's calls on, for the turn's owner only, and an earlier message as it is after that. A notice
-- is published only if a reader waits for it. A step may arrive late: a call that is open replaces none, and a message with fewer calls ended is not
-- put in the place of one with more: `ended` counts them, and `open` has a digit for each call, 1 if it is open.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, from, amends, ended, open, ...calls.
-- Answer: {'stored', stop} with the request to stop or false (`taken`: nothing is stored), {'fenced'}, or {'hole', count} with how many there are, if the place lies beyond.
--- @include "amend-message"
--- @include "announce"
--- @include "at"
--- @include "int"
--- @include "is-held"

local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return { 'fenced' } end
local stop, awaited, awaited_on, count, amended = unpack(redis.call('HMGET', flight, 'stop', 'awaited', 'awaitedOn', 'calls', 'amended'))
if stop == 'taken' then return { 'stored', stop } end
count, amended, ended = tonumber(count or 0), tonumber(amended or 0), tonumber(ended)
if tonumber(from) > count then return { 'hole', count } end
for place = calls_at, #ARGV do
  local index, nth = from + place - calls_at, place - calls_at + 1
  if index >= count or open:sub(nth, nth) == '0' then redis.call('HSET', flight, 'call/' .. int(index), ARGV[place]) end
end
local ends = from + #ARGV - calls_at + 1
if ends > count then redis.call('HSET', flight, 'calls', int(ends)) end
if ended >= amended then amend_message(session, amends) end
if ended > amended then redis.call('HSET', flight, 'amended', int(ended)) end
if awaited then
  redis.call('HDEL', flight, 'awaited', 'awaitedOn')
  announce(awaited_on, awaited)
end
return { 'stored', stop }
