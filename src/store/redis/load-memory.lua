-- The memory of a request as another store had it, and when it ends.
local memory, record, result, ends = unpack(ARGV)
redis.call('HSET', at('memories'), memory, record, memory .. '/result', result)
redis.call('ZADD', at('memory-ends'), ends, memory)
return 1
