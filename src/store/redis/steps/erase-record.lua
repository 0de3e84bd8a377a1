-- Removes a test, a run of tests or a result of one, and counts a test in the erasure. A record that is gone counts
-- nothing.
-- KEYS: the workspace's root.
-- ARGV: kind, id, erasure.
-- Answer: 1.
--- @include "at"

local removed = redis.call('HDEL', at(kind), id)
redis.call('HDEL', at(kind), id .. '/version')
redis.call('ZREM', at(kind, 'ids'), id)
if removed == 1 and kind == 'assistant_test' and redis.call('HEXISTS', at('erasures'), erasure) == 1 then
  redis.call('HINCRBY', at('erasures'), erasure .. '/tests', 1)
end
return 1
