-- Loads a turn from an export. A turn in flight has lost its lease and takes no slot; its position is set when its message is loaded.
-- KEYS: the workspace's root.
-- ARGV: session, turn, record, index, begun, finished, epoch, owner, stop, memory.
-- Answer: 1.
--- @include "at"

redis.call('HSET', at('turns', session), turn, record, turn .. '/index', index, turn .. '/begun', begun)
if finished ~= '' then redis.call('HSET', at('turns', session), turn .. '/finished', finished) end
if epoch == '' then return 1 end
local flight = at('flight', session, turn)
redis.call('HSET', flight, 'epoch', epoch, 'owner', owner, 'lease', 0)
if stop ~= '' then redis.call('HSET', flight, 'stop', stop) end
if memory ~= '' then redis.call('HSET', flight, 'memory', memory) end
redis.call('SADD', at('flights', session), turn)
redis.call('ZADD', at('leases'), 0, session .. '/' .. turn)
return 1
