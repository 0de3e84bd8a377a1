-- Reads the id of the installation in a database; the first that asks makes it. A copy of the database under another number is another
-- installation.
-- KEYS: the root of the lists.
-- ARGV: database, id.
-- Answer: the id.
--- @include "at"

redis.call('HSETNX', at('installation'), database, id)
return redis.call('HGET', at('installation'), database)
