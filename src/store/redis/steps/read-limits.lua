-- Reads the use of several limits. The arguments of each: kind, name, period.
-- KEYS: the workspace's root.
-- ARGV: ...looked.
-- Answer: for each limit the count of a counter's present period, or how many places are taken.
--- @include "at"
--- @include "int"
--- @include "now"

local time, answer = now(), {}
for each = looked_at, #ARGV, 3 do
  local key, period = at('limit', ARGV[each + 1]), tonumber(ARGV[each + 2])
  if ARGV[each] == 'place' then
    answer[#answer + 1] = redis.call('ZCOUNT', key, '(' .. int(time), '+inf')
  else
    local used, since = (redis.call('GET', key) or '0 0'):match('^(-?%d+) (%d+)$')
    answer[#answer + 1] = tonumber(since) == time - time % period and tonumber(used) or 0
  end
end
return answer
