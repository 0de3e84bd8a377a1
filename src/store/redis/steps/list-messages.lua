-- Reads a page of the transcript; a streaming message contains the output stored so far, as much of it as is released.
-- KEYS: the workspace's root.
-- ARGV: session, order, after, count.
-- Answer: the messages, in their stored form; behind them the calls of the turn in flight, if its message is among them.
--- @include "at"
--- @include "complete-message"
--- @include "drop-points"
--- @include "read-calls"

local key, found, newest = at('messages', session), nil, '+inf'
-- Messages of the desk may follow the messages of the turn in flight.
local turn = redis.call('SMEMBERS', at('flights', session))[1]
local index, stored, released = nil, nil, nil
if turn then
  index = redis.call('HGET', at('turns', session), turn .. '/index')
  stored, released = unpack(redis.call('HMGET', at('flight', session, turn), 'position', 'released'))
end
if released == '-1' then newest = '(' .. index - 1 end
if order == 'asc' then
  found = redis.call('ZRANGEBYSCORE', key, after == '' and '-inf' or '(' .. after, newest, 'LIMIT', 0, count)
else
  found = redis.call('ZREVRANGEBYSCORE', key, (after == '' or (released == '-1' and tonumber(after) >= index - 1)) and newest or '(' .. after, '-inf', 'LIMIT', 0, count)
end
local streams = false
for place, member in ipairs(found) do
  streams = streams or (turn and member:match('^%d+:%-1:'))
  found[place] = complete_message(session, member)
  if released and #found[place] > #member then found[place] = drop_points(found[place], math.max(0, stored - released)) end
end
if streams then found[#found + 1] = read_calls(at('flight', session, turn)) end
return found
