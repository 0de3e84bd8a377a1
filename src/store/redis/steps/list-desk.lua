-- Reads sessions at the desk, which wait for a person or have one, in the order of their ids. Entries of sessions that are gone or have
-- ended are removed.
-- KEYS: the workspace's root.
-- ARGV: order, after, count.
-- Answer: their records.
--- @include "at"

local ids
if order == 'asc' then
  ids = redis.call('ZRANGEBYLEX', at('desk'), after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, count)
else
  ids = redis.call('ZREVRANGEBYLEX', at('desk'), after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, count)
end
local records = {}
for _, id in ipairs(ids) do
  local row = redis.call('HMGET', at('session', id), 'record', 'state')
  if not row[1] or row[2] == 'ended' or row[2] == 'expired' then
    redis.call('ZREM', at('desk'), id)
  else
    records[#records + 1] = row[1]
  end
end
return records
