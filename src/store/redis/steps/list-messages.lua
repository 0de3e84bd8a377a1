-- Reads a page of the transcript; a streaming message contains the output stored so far.
-- KEYS: the workspace's root.
-- ARGV: session, order, after, count.
-- Answer: the messages, in their stored form.
--- @include "at"
--- @include "complete-message"

local key, found = at('messages', session), nil
if order == 'asc' then
  found = redis.call('ZRANGEBYSCORE', key, after == '' and '-inf' or '(' .. after, '+inf', 'LIMIT', 0, count)
else
  found = redis.call('ZREVRANGEBYSCORE', key, after == '' and '+inf' or '(' .. after, '-inf', 'LIMIT', 0, count)
end
for index, member in ipairs(found) do found[index] = complete_message(session, member) end
return found
