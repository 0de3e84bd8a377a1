-- Loads an actor's history from an export, in place of the present one.
-- KEYS: the workspace's root.
-- ARGV: kind, id, ...moves.
-- Answer: 1.
--- @include "at"

redis.call('DEL', at('history', kind, id))
for each = moves_at, #ARGV do redis.call('RPUSH', at('history', kind, id), ARGV[each]) end
return 1
