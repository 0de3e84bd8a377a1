-- How many slots are taken: only leases that still run count.
return redis.call('ZCOUNT', at('slots'), '(' .. int(now()), '+inf')
