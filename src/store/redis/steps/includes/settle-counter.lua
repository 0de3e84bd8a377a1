-- Charges a counter, or gives back, unless its period is another one than the present.
--- @include "int"

local function settle_counter(key, cost, since, period, time)
  local used, newest = (redis.call('GET', key) or '0 0'):match('^(-?%d+) (%d+)$')
  if since ~= time - time % period then return end
  if tonumber(newest) ~= since then used = 0 end
  redis.call('SET', key, int(math.max(0, used + cost)) .. ' ' .. int(since), 'PX', int(since + period - time + STEP_KEPT_MS))
end
