-- A budget's deepest debt, as a process that did not ask has made it, unless somebody has taken from the budget since.
local id, lane, number, budget, level, since = unpack(ARGV)
local key, time = at('budget', id), now()
local stored = redis.call('HMGET', key, lane, budget)
if passed_by(stored[1], number) then return 0 end
local stood = tonumber((stored[2] or ''):match(' (%d+)$') or 0)
since = math.min(tonumber(since), math.max(time, stood))
if stood > since then return 0 end
redis.call('HSET', key, budget, level .. ' ' .. int(since), lane, number .. ' ' .. int(time))
keep_budget(key, time)
return 1
