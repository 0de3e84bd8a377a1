-- Sessions past retention, and how much the workspace holds that a sweep must come back for.
-- KEYS: the workspace's root.
-- ARGV: retention, offset, count.
-- Answer: {rows, sessions}: how many rows there are, and the ids.
--- @include "at"
--- @include "int"
--- @include "now"

local aged = math.floor(now() / 1000) - retention
local holds = redis.call('ZCARD', at('activity')) + redis.call('ZCARD', at('leases')) + redis.call('ZCARD', at('memory-ends'))
return { holds, redis.call('ZRANGEBYSCORE', at('activity'), '-inf', '(' .. int(aged), 'LIMIT', offset, count) }
