-- Stores the memory of a request, for as long as it lasts.
--- @include "at"
--- @include "int"
--- @include "now"

local function remember(memory, record, result, lasts)
  redis.call('HSET', at('memories'), memory, record, memory .. '/result', result)
  redis.call('ZADD', at('memory-ends'), int(now() + lasts), memory)
end
