-- Removes expired memories.
-- KEYS: the workspace's root.
-- ARGV: limit, latest.
-- Answer: how many.
--- @include "at"
--- @include "forget"
--- @include "int"
--- @include "now"

local over = redis.call('ZRANGEBYSCORE', at('memory-ends'), '-inf', int(math.min(now(), latest)), 'LIMIT', 0, limit)
for _, memory in ipairs(over) do forget(memory) end
return #over
