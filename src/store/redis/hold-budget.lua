-- A budget's deepest debt, as a process that did not ask has made it, unless somebody has taken from the budget since.
local id, budget, level, since = unpack(ARGV)
local key = at('budget', id)
local stood = tonumber((redis.call('HGET', key, budget) or ''):match(' (%d+)$') or 0)
since = math.min(tonumber(since), math.max(now(), stood))
if stood > since then return 0 end
redis.call('HSET', key, budget, level .. ' ' .. int(since))
redis.call('PEXPIRE', key, 120000)
return 1
