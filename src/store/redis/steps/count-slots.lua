-- Counts the API's slots that are taken: only those whose lease still runs.
-- KEYS: the workspace's root.
-- ARGV: none.
-- Answer: their number.
--- @include "int"
--- @include "name-slots"
--- @include "now"

return redis.call('ZCOUNT', name_slots('api'), '(' .. int(now()), '+inf')
