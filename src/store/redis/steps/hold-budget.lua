-- Sets a budget to its deepest debt, as computed by a process without Redis, unless another process has taken from it since.
-- KEYS: the workspace's root.
-- ARGV: id, lane, number, budget, level, since.
-- Answer: 1 if the debt was set, else 0.
--- @include "at"
--- @include "int"
--- @include "keep-budget"
--- @include "note-use"
--- @include "now"
--- @include "read-lane"

local key, time = at('budget', id), now()
local stored = redis.call('HMGET', key, lane, budget, 'used')
if read_lane(stored[1], number) then return 0 end
local stood = tonumber((stored[2] or ''):match(' (%d+)$') or 0)
-- A level from the future is one of a clock that was set back.
if stood > time then stood = time end
since = math.min(tonumber(since), time)
if stood > since then return 0 end
redis.call('HSET', key, budget, level .. ' ' .. int(since), lane, number .. ' ' .. int(time))
note_use(key, id, since, stored[3])
keep_budget(key, time)
return 1
