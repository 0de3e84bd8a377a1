-- Notes Redis's time, and since when it has moved evenly: the rule of store/time-course.ts.
-- KEYS: the root of the lists of workspaces.
-- ARGV: correction, gap, trust.
-- Answer: 1 if it has moved evenly for so long that rows past their time may be deleted, else 0.
--- @include "at"
--- @include "int"
--- @include "now"

local time = now()
local seen, even = (redis.call('GET', at('time')) or ''):match('^(%d+) (%d+)$')
if not seen or time < seen - correction or time > seen + gap then even = time end
redis.call('SET', at('time'), int(time) .. ' ' .. int(even))
return time - even >= tonumber(trust) and 1 or 0
