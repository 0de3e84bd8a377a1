-- The turns of one workspace whose lease has run out, and the milliseconds until the first lease does: -1 without any.
local time = now()
local first = redis.call('ZRANGE', at('leases'), 0, 0, 'WITHSCORES')[2]
return { first and math.max(0, first - time) or -1, redis.call('ZRANGEBYSCORE', at('leases'), '-inf', int(time), 'LIMIT', 0, ARGV[1]) }
