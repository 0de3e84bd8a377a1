-- Stores a catalog record, from an export or for an index, and notifies nobody.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, version, alias, wants.
-- Answer: 1.
--- @include "at"
--- @include "put-wants"

redis.call('HSET', at(kind), id, record, id .. '/version', version)
redis.call('ZADD', at(kind, 'ids'), 0, id)
if alias ~= '' then redis.call('HSET', at('aliases'), alias, id) end
put_wants(kind, id, wants)
return 1
