-- Finds the workspaces among some that are on a list.
-- KEYS: the root of the lists.
-- ARGV: list, ...workspaces.
-- Answer: their ids.
--- @include "at"

local found = {}
for each = workspaces_at, #ARGV do
  if redis.call('ZSCORE', at(list), ARGV[each]) then found[#found + 1] = ARGV[each] end
end
return found
