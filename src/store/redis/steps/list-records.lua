-- Reads a page of catalog records in the order of their ids.
-- KEYS: the root of the kind.
-- ARGV: kind, order, after, count.
-- Answer: the records.
--- @include "at"

local key, ids = at(kind, 'ids'), nil
if order == 'asc' then
  ids = redis.call('ZRANGEBYLEX', key, after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, count)
else
  ids = redis.call('ZREVRANGEBYLEX', key, after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, count)
end
if #ids == 0 then return {} end
return redis.call('HMGET', at(kind), unpack(ids))
