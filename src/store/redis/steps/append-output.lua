-- Appends a piece of output at its position, for the turn's owner only. It may renew the lease, and returns a request to stop. A
-- notice is published only if a reader waits for it.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, position, count, text, lease.
-- Answer: {'stored', stop} with the request to stop or false, {'fenced'}, or {'hole', position} with where the output ends.
local flight = at('flight', session, turn)
if not held(flight, epoch, owner) then return { 'fenced' } end
local stored = tonumber(redis.call('HGET', flight, 'position'))
if tonumber(position) > stored then return { 'hole', stored } end
if lease ~= '' and not renewed(flight, session .. '/' .. turn, lease) then return { 'fenced' } end
local heard = redis.call('HMGET', flight, 'stop', 'awaited')
local rest, points = unstored(text, tonumber(count), stored - position)
if points > 0 then
  redis.call('APPEND', at('output', session, turn), rest)
  redis.call('HSET', flight, 'position', int(stored + points))
  if heard[2] then
    redis.call('HDEL', flight, 'awaited')
    announce(heard[2])
  end
end
return { 'stored', heard[1] }
