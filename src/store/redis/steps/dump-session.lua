-- Reads a session at one moment: its oldest messages, its newest, which alone may grow, and its turn in flight. The
-- newest are the last two, or the messages of the turn in flight and the messages of the desk after it. A withdrawal
-- later may remove messages that were returned here.
-- KEYS: the workspace's root.
-- ARGV: session, count.
-- Answer: {record, version, withdrawn, oldest, newest, flight, history}, flight false or {record, begun, epoch, owner, stop, memory, calls, released}; false if there is no
--   such session.
--- @include "at"
--- @include "complete-message"
--- @include "read-calls"

local head = redis.call('HMGET', at('session', session), 'record', 'version', 'withdrawn')
if not head[1] then return false end
local oldest = redis.call('ZRANGE', at('messages', session), 0, count - 1)
local newest, flight = redis.call('ZRANGE', at('messages', session), -2, -1), false
local turn = redis.call('SMEMBERS', at('flights', session))[1]
if turn then
  local held = redis.call('HMGET', at('flight', session, turn), 'epoch', 'owner', 'stop', 'memory', 'released')
  local stands = redis.call('HMGET', at('turns', session), turn, turn .. '/begun', turn .. '/index')
  local memory = held[4] and redis.call('HGET', at('memories'), held[4])
  flight = { stands[1], stands[2], held[1], held[2], held[3], memory, read_calls(at('flight', session, turn)), held[5] }
  newest = redis.call('ZRANGEBYSCORE', at('messages', session), stands[3] - 1, '+inf')
end
for index, member in ipairs(oldest) do oldest[index] = complete_message(session, member) end
for index, member in ipairs(newest) do newest[index] = complete_message(session, member) end
return { head[1], head[2], head[3], oldest, newest, flight, redis.call('LRANGE', at('history', 'session', session), 0, -1) }
