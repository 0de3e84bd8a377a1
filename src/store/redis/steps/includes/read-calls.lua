-- Reads the calls of a turn in flight, in their order.
local function read_calls(flight)
  local count = tonumber(redis.call('HGET', flight, 'calls') or 0)
  local calls = {}
  for index = 0, count - 1 do calls[index + 1] = redis.call('HGET', flight, 'call/' .. index) end
  return calls
end
