-- Reads Redis's time in milliseconds since the epoch: no step uses a process's own clock.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
