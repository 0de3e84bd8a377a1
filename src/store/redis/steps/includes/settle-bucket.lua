-- Charges a bucket, or gives back. A bucket without a key is full.
--- @include "int"

local function settle_bucket(key, ceiling, period, cost, time)
  local level, since = (redis.call('GET', key) or ''):match('^(-?%d+) (%d+)$')
  if not level or ceiling == 0 then return end
  level = math.min(ceiling * period, math.max((1 - ceiling) * period, tonumber(level)) + math.max(0, time - since) * ceiling)
  level = math.min(ceiling * period, level - cost * period)
  local ends = time + math.ceil((ceiling * period - level) / ceiling)
  redis.call('SET', key, int(level) .. ' ' .. int(time), 'PX', int(ends - time + STEP_KEPT_MS))
end
