-- Takes several limits at once, or none of them: the arithmetic of machines/budget.ts, number for number. The arguments of each
-- limit: kind, name, ceiling, period, cost, holder, lease. A key expires once it no longer changes any answer.
-- KEYS: the workspace's root.
-- ARGV: write, ...asked.
-- Answer: for each limit 1 if it passes or 0, and the milliseconds until it may: 0 if it passes, -1 if it never will.
local earlier, answer = redis.call('GET', at('write', write)), {}
if earlier then
  for number in earlier:gmatch('%-?%d+') do answer[#answer + 1] = tonumber(number) end
  return answer
end

local time, taken, refused = now(), {}, false
for each = asked_at, #ARGV, 7 do
  local kind, key, holder = ARGV[each], at('limit', ARGV[each + 1]), ARGV[each + 5]
  local ceiling, period, cost, lease = tonumber(ARGV[each + 2]), tonumber(ARGV[each + 3]), tonumber(ARGV[each + 4]), tonumber(ARGV[each + 6])
  local passed, wait, limit = false, -1, { kind = kind, key = key, holder = holder }
  if kind == 'place' then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', int(time))
    local held, count = redis.call('ZSCORE', key, holder), redis.call('ZCARD', key)
    passed = ceiling > 0 and (held or count < ceiling)
    if not passed and ceiling > 0 then wait = redis.call('ZRANGE', key, count - ceiling, count - ceiling, 'WITHSCORES')[2] - time end
    limit.ends = math.max(tonumber(held or 0), time + lease)
  else
    local first, second = (redis.call('GET', key) or ''):match('^(-?%d+) (%d+)$')
    if kind == 'counter' then
      local used, since = tonumber(first or 0), time - time % period
      if second and tonumber(second) >= since then since = tonumber(second) else used = 0 end
      passed, wait = used < ceiling, since + period - time
      limit.stored, limit.ends = int(used + cost) .. ' ' .. int(since), since + period
    else
      local level, since = tonumber(first or ceiling * period), tonumber(second or time)
      level = math.min(ceiling * period, math.max((1 - ceiling) * period, level) + math.max(0, time - since) * ceiling)
      since = math.max(time, since)
      passed = level >= cost * period
      if cost <= ceiling then wait = math.ceil((cost * period - level) / ceiling) end
      level = level - cost * period
      if passed then limit.stored, limit.ends = int(level) .. ' ' .. int(since), since + math.ceil((ceiling * period - level) / ceiling) end
    end
    if ceiling == 0 then wait = -1 end
  end
  refused = refused or not passed
  taken[#taken + 1] = limit
  answer[#answer + 1] = passed and 1 or 0
  answer[#answer + 1] = passed and 0 or wait
end

for _, limit in ipairs(refused and {} or taken) do
  if limit.kind == 'place' then
    redis.call('ZADD', limit.key, int(limit.ends), limit.holder)
    redis.call('PEXPIRE', limit.key, int(redis.call('ZRANGE', limit.key, -1, -1, 'WITHSCORES')[2] - time + STEP_KEPT_MS))
  else
    redis.call('SET', limit.key, limit.stored, 'PX', int(limit.ends - time + STEP_KEPT_MS))
  end
end
once(write, table.concat(answer, ' '))
return answer
