-- A workspace that holds nothing, unless a process may still count on its being registered.
local list, workspace, stale = unpack(ARGV)
local since = redis.call('ZSCORE', at(list), workspace)
if since and tonumber(since) <= now() - stale then redis.call('ZREM', at(list), workspace) end
return 1
