-- A piece of output at its position, by its owner alone; it may renew the lease, and tells of a stop asked for. Only where
-- somebody awaits it is it announced.
local session, turn, epoch, owner, position, count, text, lease = unpack(ARGV)
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
