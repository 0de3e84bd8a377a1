-- A workspace that holds nothing, unless a process may still count on its being registered.
local since = redis.call('ZSCORE', at('active'), ARGV[1])
if since and tonumber(since) <= now() - ARGV[2] then redis.call('ZREM', at('active'), ARGV[1]) end
return 1
