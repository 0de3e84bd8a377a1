-- Takes over a turn whose lease has run out. Redis's time counts up to `latest`, if it is given: a lease does not end
-- because the clock was set ahead. The turn will be sealed and not run, so it needs no slot.
-- KEYS: the workspace's root.
-- ARGV: session, turn, owner, lease, token, latest.
-- Answer: {epoch, stop} with the new epoch and the request to stop or false; false if the lease runs or the turn has
-- ended.
--- @include "at"
--- @include "int"
--- @include "now"

local flight = at('flight', session, turn)
local stands = redis.call('HMGET', flight, 'epoch', 'owner', 'lease', 'seizure', 'stop')
if not stands[1] then return false end
if stands[2] == owner and stands[4] == token then return { tonumber(stands[1]), stands[5] } end
local time = now()
if tonumber(stands[3]) > (latest == '' and time or math.min(time, latest)) then return false end
local epoch, ends = stands[1] + 1, int(time + lease)
redis.call('HSET', flight, 'epoch', epoch, 'owner', owner, 'lease', ends, 'seizure', token)
redis.call('HDEL', flight, 'slotsMax')
redis.call('ZADD', at('leases'), ends, session .. '/' .. turn)
return { epoch, stands[5] }
