-- Loads an account's usage in an hour, or in a second of that hour.
-- KEYS: the workspace's root.
-- ARGV: account, hour, second, counts.
-- Answer: 1.
--- @include "at"

redis.call('SADD', at('usage'), account)
if second == '' then
  redis.call('HSET', at('usage', account), hour, counts)
else
  redis.call('HSET', at('usage', account, hour), second, counts)
end
return 1
