-- Loads a delivery to a webhook from an export.
-- KEYS: the workspace's root.
-- ARGV: webhook, id, event, state, next, session, source.
-- Answer: 1.
--- @include "at"

redis.call('HSET', at('deliveries', webhook), id, event, id .. '/state', state, id .. '/session', session, id .. '/source', source)
redis.call('ZADD', at('deliveries', webhook, 'ids'), 0, id)
if next ~= '' then redis.call('ZADD', at('deliveries', webhook, 'due'), next, id) end
redis.call('SADD', at('deliveries-of', session), source .. ' ' .. webhook .. ' ' .. id)
return 1
