-- Reads the memory of a request if it has not expired; otherwise false.
--- @include "at"
--- @include "now"

local function recall(memory)
  local ends = redis.call('ZSCORE', at('memory-ends'), memory)
  if not ends or tonumber(ends) <= now() then return false end
  return redis.call('HGET', at('memories'), memory)
end
