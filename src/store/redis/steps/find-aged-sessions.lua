-- Finds sessions past retention, and how much the workspace holds that a sweep must come back for. Redis's time counts up to `latest`,
-- which the caller knows from another Redis server.
-- KEYS: the workspace's root.
-- ARGV: retention, latest, offset, count.
-- Answer: {rows, sessions}: how many rows there are, and the ids.
--- @include "at"
--- @include "int"
--- @include "now"

local aged = math.floor(math.min(now(), latest) / 1000) - retention
local holds = redis.call('ZCARD', at('activity')) + redis.call('ZCARD', at('leases')) + redis.call('ZCARD', at('memory-ends'))
return { holds, redis.call('ZRANGEBYSCORE', at('activity'), '-inf', '(' .. int(aged), 'LIMIT', offset, count) }
