-- Counts the API's slots that are taken: only those whose lease still runs.
-- KEYS: the workspace's root.
-- ARGV: none.
-- Answer: their number.
return redis.call('ZCOUNT', slots_of('api'), '(' .. int(now()), '+inf')
