-- Removes a workspace that holds nothing from a list, unless a process may still rely on its entry.
-- KEYS: the root of the lists.
-- ARGV: list, workspace, stale.
-- Answer: 1.
--- @include "at"
--- @include "now"

local since = redis.call('ZSCORE', at(list), workspace)
if since and tonumber(since) <= now() - stale then redis.call('ZREM', at(list), workspace) end
return 1
