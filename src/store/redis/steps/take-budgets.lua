-- Charges requests, one after the other, each to every budget in turn until one refuses: the arithmetic of machines/budget.ts, number for
-- number. The lane's field keeps the step's number, its time and its answer, for a repeat. `seen` is the time of the first budget's level as
-- the sender saw it `waited` milliseconds ago, or 0.
-- KEYS: the workspace's root.
-- ARGV: id, lane, number, count, seen, waited, ...asked.
-- Answer: for each request, for each budget: 1 if it passed, 0 if it refused, 2 if one before it refused; its level, and the time of that level.
--- @include "at"
--- @include "int"
--- @include "keep-budget"
--- @include "note-use"
--- @include "now"
--- @include "read-lane"

local key, time = at('budget', id), now()
local fields = { lane }
for each = asked_at, #ARGV, 2 do fields[#fields + 1] = ARGV[each] end
fields[#fields + 1] = 'used'
local stored = redis.call('HMGET', key, unpack(fields))
fields[#fields] = nil
local answered, when, given = read_lane(stored[1], number)
local answer = {}
if answered then
  for passed, level, ahead in given:gmatch('(%d) (%-?%d+) (%d+)') do
    answer[#answer + 1] = tonumber(passed)
    answer[#answer + 1] = level
    answer[#answer + 1] = int(when + ahead)
  end
  return answer
end

local buckets = {}
for index = 2, #fields do
  local ceiling = tonumber(ARGV[asked_at + 2 * index - 3])
  local level, since = (stored[index] or ''):match('^(-?%d+) (%d+)$')
  level, since = tonumber(level or ceiling * BUDGET_UNIT), tonumber(since or time)
  -- A clock that is set back must not lengthen the wait: the sender knows how long ago it saw this level. Any other level from the future
  -- counts from now.
  if index == 2 and since == tonumber(seen) then since = math.min(since, time - waited) end
  since = math.min(since, time)
  level = math.max((1 - ceiling) * BUDGET_UNIT, level) + (time - since) * ceiling
  buckets[#buckets + 1] = { name = fields[index], ceiling = ceiling, level = math.min(ceiling * BUDGET_UNIT, level), since = time }
end

local answers = { number, int(time) }
for _ = 1, tonumber(count) do
  local refused
  for index, bucket in ipairs(buckets) do
    if bucket.level < BUDGET_UNIT then
      refused = index
      break
    end
  end
  for index, bucket in ipairs(buckets) do
    local passed = (not refused or index < refused) and 1 or index == refused and 0 or 2
    if not refused or index == refused then
      bucket.level = math.max((1 - bucket.ceiling) * BUDGET_UNIT, bucket.level - BUDGET_UNIT)
      bucket.charged = true
    end
    local level = int(bucket.level)
    answers[#answers + 1] = passed .. ' ' .. level .. ' ' .. int(bucket.since - time)
    answer[#answer + 1] = passed
    answer[#answer + 1] = level
    answer[#answer + 1] = int(bucket.since)
  end
end

local written = { lane, table.concat(answers, ' ') }
for _, bucket in ipairs(buckets) do
  if bucket.charged then
    written[#written + 1] = bucket.name
    written[#written + 1] = int(bucket.level) .. ' ' .. int(bucket.since)
  end
end
redis.call('HSET', key, unpack(written))
note_use(key, id, time, stored[#fields + 1])
keep_budget(key, time)
return answer
