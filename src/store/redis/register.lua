-- A workspace that holds something which must be looked for, on one of the lists of such workspaces.
local list, workspace = unpack(ARGV)
redis.call('ZADD', at(list), int(now()), workspace)
return 1
