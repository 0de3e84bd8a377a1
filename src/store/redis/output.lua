-- The text of a turn: in flight as it is stored, finished as its message has it.
local session, turn = unpack(ARGV)
if redis.call('EXISTS', at('flight', session, turn)) == 1 then
  return { 'streaming', redis.call('GET', at('output', session, turn)) or '' }
end
local index = redis.call('HGET', at('turns', session), turn .. '/index')
if not index then return { 'streaming', '' } end
return { 'finished', redis.call('ZRANGEBYSCORE', at('messages', session), index, index)[1] or false }
