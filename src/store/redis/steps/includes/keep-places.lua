-- Keeps the key of places or seats until a minute after the last of them ends.
--- @include "int"

local function keep_places(key, time)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('PEXPIRE', key, int(last - time + STEP_KEPT_MS)) end
end
