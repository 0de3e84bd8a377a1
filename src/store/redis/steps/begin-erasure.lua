-- Stores an erasure, unless it has begun: its id, and beside it the counts of what it has removed.
-- KEYS: the workspace's root.
-- ARGV: erasure, id, audit_id, audit.
-- Answer: 1 if it begins, 0 if it had begun.
--- @include "at"
--- @include "put-audit"

if redis.call('HSETNX', at('erasures'), erasure, id) == 0 then return 0 end
put_audit(audit_id, audit)
return 1
