-- A page of the transcript; a message that streams carries the output stored so far.
local session, order, after, count = unpack(ARGV)
local key, found = at('messages', session), nil
if order == 'asc' then
  found = redis.call('ZRANGEBYSCORE', key, after == '' and '-inf' or '(' .. after, '+inf', 'LIMIT', 0, count)
else
  found = redis.call('ZREVRANGEBYSCORE', key, after == '' and '+inf' or '(' .. after, '-inf', 'LIMIT', 0, count)
end
for index, member in ipairs(found) do found[index] = whole(session, member) end
return found
