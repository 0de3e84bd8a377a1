-- The turns of one workspace whose lease has run out.
return redis.call('ZRANGEBYSCORE', at('leases'), '-inf', int(now()), 'LIMIT', 0, ARGV[1])
