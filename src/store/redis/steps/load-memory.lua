-- Loads the memory of a request from an export, with the time when it ends.
-- KEYS: the workspace's root.
-- ARGV: memory, record, result, ends.
-- Answer: 1.
--- @include "at"

redis.call('HSET', at('memories'), memory, record, memory .. '/result', result)
redis.call('ZADD', at('memory-ends'), ends, memory)
return 1
