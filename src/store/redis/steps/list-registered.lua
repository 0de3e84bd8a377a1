-- Reads the workspaces on a list: those that a process may still rely on, and the stale ones, which are removed once they hold nothing.
-- KEYS: the root of the lists.
-- ARGV: list, stale.
-- Answer: {fresh, stale}.
--- @include "at"
--- @include "int"
--- @include "now"

local since = int(now() - stale)
return { redis.call('ZRANGEBYSCORE', at(list), '(' .. since, '+inf'), redis.call('ZRANGEBYSCORE', at(list), '-inf', since) }
