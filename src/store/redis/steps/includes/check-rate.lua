-- Whether a counter, a quota or a bucket passes, and the milliseconds until it may. Notes its value after the charge.
--- @include "int"

local function check_rate(limit, ceiling, period, cost, time)
  local first, second = (redis.call('GET', limit.key) or ''):match('^(-?%d+) (%d+)$')
  local passed, wait
  if limit.kind ~= 'bucket' then
    local used, since = tonumber(first or 0), time - time % period
    if tonumber(second or 0) ~= since then used = 0 end
    passed, wait = used < ceiling, since + period - time
    if limit.kind == 'quota' then
      passed = used + cost <= ceiling
      if cost > ceiling then wait = -1 end
    end
    limit.stored, limit.ends = int(used + cost) .. ' ' .. int(since), since + period
  else
    local level, since = tonumber(first or ceiling * period), tonumber(second or time)
    level = math.min(ceiling * period, math.max((1 - ceiling) * period, level) + math.max(0, time - since) * ceiling)
    since = time
    passed, wait = level >= cost * period, -1
    if cost <= ceiling then wait = math.ceil((cost * period - level) / ceiling) end
    level = level - cost * period
    if passed then limit.stored, limit.ends = int(level) .. ' ' .. int(since), since + math.ceil((ceiling * period - level) / ceiling) end
  end
  if ceiling == 0 then wait = -1 end
  return passed, passed and 0 or wait
end
