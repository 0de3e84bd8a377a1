-- What is used of several limits. The arguments of each: kind, name, period.
-- KEYS: the workspace's root.
-- ARGV: ...looked.
-- Answer: for each limit the count of a counter's present period, or how many places are taken.
local time, answer = now(), {}
for each = looked_at, #ARGV, 3 do
  local key, period = at('limit', ARGV[each + 1]), tonumber(ARGV[each + 2])
  if ARGV[each] == 'place' then
    local _, count = places_of(key, time)
    answer[#answer + 1] = count
  else
    local used, since = (redis.call('GET', key) or '0 0'):match('^(-?%d+) (%d+)$')
    answer[#answer + 1] = tonumber(since) >= time - time % period and tonumber(used) or 0
  end
end
return answer
