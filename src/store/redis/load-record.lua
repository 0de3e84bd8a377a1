-- A catalog record as another store had it.
local kind, id, record, version = unpack(ARGV)
redis.call('HSET', at(kind), id, record, id .. '/version', version)
redis.call('ZADD', at(kind, 'ids'), 0, id)
return 1
