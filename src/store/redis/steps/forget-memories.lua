-- Removes memories of requests that still have the records that they were read with. The arguments of each: its name, its record.
-- KEYS: the workspace's root.
-- ARGV: ...memories.
-- Answer: 1.
--- @include "at"
--- @include "forget"

for each = memories_at, #ARGV, 2 do
  if redis.call('HGET', at('memories'), ARGV[each]) == ARGV[each + 1] then forget(ARGV[each]) end
end
return 1
