-- Finds the turns of one workspace whose lease has run out, and the milliseconds until the first lease does: 0 if one has, -1 without any.
-- KEYS: the workspace's root.
-- ARGV: limit.
-- Answer: {milliseconds, members}, each member SESSION/TURN.
--- @include "at"
--- @include "int"
--- @include "now"

local time = now()
local first = redis.call('ZRANGE', at('leases'), 0, 0, 'WITHSCORES')[2]
return { first and math.max(0, first - time) or -1, redis.call('ZRANGEBYSCORE', at('leases'), '-inf', int(time), 'LIMIT', 0, limit) }
