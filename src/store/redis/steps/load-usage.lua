-- Loads an assistant's usage in an hour, or in a second of that hour.
-- KEYS: the workspace's root.
-- ARGV: assistant, hour, second, counts.
-- Answer: 1.
redis.call('SADD', at('usage'), assistant)
if second == '' then
  redis.call('HSET', at('usage', assistant), hour, counts)
else
  redis.call('HSET', at('usage', assistant, hour), second, counts)
end
return 1
