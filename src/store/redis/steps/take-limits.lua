-- Takes several limits at once, or none of them (see `take_limits`).
-- KEYS: the workspace's root.
-- ARGV: write, ...asked.
-- Answer: for each limit 1 if it passes or 0, and the milliseconds until it may: 0 if it passes, -1 if it never will.
--- @include "at"
--- @include "keep-answer"
--- @include "take-limits"

local earlier = redis.call('GET', at('write', write))
if earlier then
  local answer = {}
  for number in earlier:gmatch('%-?%d+') do answer[#answer + 1] = tonumber(number) end
  return answer
end
local _, answer = take_limits(asked_at)
keep_answer(write, table.concat(answer, ' '))
return answer
