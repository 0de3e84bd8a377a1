-- One request held against each budget in turn until one refuses: the arithmetic of machines/budget.ts, number for number.
local unit = 60000
local key, time = at('budget', ARGV[1]), now()
local looked, refused = {}, nil
for each = 2, #ARGV, 2 do
  local ceiling = tonumber(ARGV[each + 1])
  local level, since = (redis.call('HGET', key, ARGV[each]) or ''):match('^(-?%d+) (%d+)$')
  level, since = tonumber(level or ceiling * unit), tonumber(since or time)
  level = math.max((1 - ceiling) * unit, level) + math.max(0, time - since) * ceiling
  local bucket = { name = ARGV[each], ceiling = ceiling, level = math.min(ceiling * unit, level), since = math.max(time, since) }
  bucket.passed = bucket.level >= unit
  looked[#looked + 1] = bucket
  if not bucket.passed then
    refused = bucket
    break
  end
end

local answer = {}
for _, bucket in ipairs(looked) do
  if not refused or bucket == refused then
    bucket.level = math.max((1 - bucket.ceiling) * unit, bucket.level - unit)
    redis.call('HSET', key, bucket.name, int(bucket.level) .. ' ' .. int(bucket.since))
  end
  answer[#answer + 1] = bucket.passed and 1 or 0
  answer[#answer + 1] = int(bucket.level)
  answer[#answer + 1] = int(bucket.since)
end
-- From the deepest debt a bucket is full after two minutes, and a bucket that is full need not be kept.
redis.call('PEXPIRE', key, 2 * unit)
return answer
