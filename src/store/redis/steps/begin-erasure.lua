-- Stores an erasure, unless it has begun: its id, and beside it the counts of what it has removed.
-- KEYS: the workspace's root.
-- ARGV: erasure, id.
-- Answer: 1 if it begins, 0 if it had begun.
--- @include "at"

return redis.call('HSETNX', at('erasures'), erasure, id)
