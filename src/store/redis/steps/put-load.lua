-- Adds a sample of a process's load to the samples of the last hour.
-- KEYS: the root of the load.
-- ARGV: row, start, kept.
-- Answer: 1.
--- @include "at"

redis.call('ZADD', at('rows'), start, row)
redis.call('ZREMRANGEBYSCORE', at('rows'), '-inf', start - kept)
redis.call('EXPIRE', at('rows'), kept)
return 1
