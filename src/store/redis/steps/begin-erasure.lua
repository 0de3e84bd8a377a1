-- Stores an erasure, unless it has begun: its id, and beside it the counts of what it has removed. A repeat gets the same
-- answer.
-- KEYS: the workspace's root.
-- ARGV: erasure, id, write, audit_id, audit.
-- Answer: 1 if it begins, 0 if it had begun.
--- @include "at"
--- @include "keep-answer"
--- @include "put-audit"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
local begins = redis.call('HSETNX', at('erasures'), erasure, id)
if begins == 1 then put_audit(audit_id, audit) end
keep_answer(write, begins)
return begins
