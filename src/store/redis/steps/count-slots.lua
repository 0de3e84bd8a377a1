-- Counts the API's slots that are taken: only those whose lease still runs, and was not given before the clock was set back.
-- KEYS: the workspace's root.
-- ARGV: none.
-- Answer: their number.
--- @include "int"
--- @include "name-slots"
--- @include "now"

local time = now()
return redis.call('ZCOUNT', name_slots('api'), '(' .. int(time), int(time + LEASE_MS_MAX))
