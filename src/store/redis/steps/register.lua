-- Registers a workspace on one of the lists of workspaces that must be visited.
-- KEYS: the root of the lists.
-- ARGV: list, workspace.
-- Answer: 1.
--- @include "at"
--- @include "int"
--- @include "now"

redis.call('ZADD', at(list), int(now()), workspace)
return 1
