-- Loads a turn from an export. A turn in flight has lost its lease and takes no slot; its position is set when its message is loaded.
-- KEYS: the workspace's root.
-- ARGV: session, turn, record, index, begun, finished, epoch, owner, stop, memory, released, feedback, ...calls.
-- Answer: 1.
--- @include "at"
--- @include "int"

redis.call('HSET', at('turns', session), turn, record, turn .. '/index', index, turn .. '/begun', begun)
if finished ~= '' then redis.call('HSET', at('turns', session), turn .. '/finished', finished) end
if feedback ~= '' then redis.call('HSET', at('turns', session), turn .. '/feedback', feedback, turn .. '/claimed', '1') end
if epoch == '' then return 1 end
local flight = at('flight', session, turn)
redis.call('HSET', flight, 'epoch', epoch, 'owner', owner, 'lease', 0)
if stop ~= '' then redis.call('HSET', flight, 'stop', stop) end
if memory ~= '' then redis.call('HSET', flight, 'memory', memory) end
if released ~= '' then redis.call('HSET', flight, 'released', released) end
for place = calls_at, #ARGV do redis.call('HSET', flight, 'call/' .. int(place - calls_at), ARGV[place]) end
if #ARGV >= calls_at then redis.call('HSET', flight, 'calls', int(#ARGV - calls_at + 1)) end
redis.call('SADD', at('flights', session), turn)
redis.call('ZADD', at('leases'), 0, session .. '/' .. turn)
return 1
