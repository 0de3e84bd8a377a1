-- Loads a catalog record from an export.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, version, alias.
-- Answer: 1.
--- @include "at"

redis.call('HSET', at(kind), id, record, id .. '/version', version)
redis.call('ZADD', at(kind, 'ids'), 0, id)
if alias ~= '' then redis.call('HSET', at('aliases'), alias, id) end
return 1
