-- What an assistant used in an hour, or in a second of that hour.
local assistant, hour, second, counts = unpack(ARGV)
redis.call('SADD', at('usage'), assistant)
if second == '' then
  redis.call('HSET', at('usage', assistant), hour, counts)
else
  redis.call('HSET', at('usage', assistant, hour), second, counts)
end
return 1
