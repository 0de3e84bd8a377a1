-- Finds the turns of one workspace whose lease has run out, and the milliseconds until the first lease does: 0 if one has, -1 without any.
-- A lease that was given before the clock was set back ends as if it were given now.
-- KEYS: the workspace's root.
-- ARGV: limit.
-- Answer: {milliseconds, members}, each member SESSION/TURN.
--- @include "at"
--- @include "int"
--- @include "now"

local time = now()
local ends = time + LEASE_MS
for _, member in ipairs(redis.call('ZRANGEBYSCORE', at('leases'), '(' .. int(time + LEASE_MS_MAX), '+inf', 'LIMIT', 0, limit)) do
  local flight = at('flight', member:match('^(.*)/'), member:match('[^/]*$'))
  redis.call('ZADD', at('leases'), int(ends), member)
  if redis.call('HEXISTS', flight, 'lease') == 1 then redis.call('HSET', flight, 'lease', int(ends)) end
end
local first = redis.call('ZRANGE', at('leases'), 0, 0, 'WITHSCORES')[2]
return { first and math.max(0, first - time) or -1, redis.call('ZRANGEBYSCORE', at('leases'), '-inf', int(time), 'LIMIT', 0, limit) }
