-- A workspace that holds something which a sweep must find.
redis.call('ZADD', at('active'), int(now()), ARGV[1])
return 1
