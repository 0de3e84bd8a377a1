-- The workspaces on a list: those that a process may still count on, and those that go once they hold nothing.
local list, stale = unpack(ARGV)
local since = int(now() - stale)
return { redis.call('ZRANGEBYSCORE', at(list), '(' .. since, '+inf'), redis.call('ZRANGEBYSCORE', at(list), '-inf', since) }
