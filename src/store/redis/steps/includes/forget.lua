-- Removes the memory of a request.
--- @include "at"

local function forget(memory)
  redis.call('HDEL', at('memories'), memory, memory .. '/result')
  redis.call('ZREM', at('memory-ends'), memory)
end
