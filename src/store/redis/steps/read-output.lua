-- Reads a turn's text: of a turn in flight the stored output, of a finished turn its message.
-- KEYS: the workspace's root.
-- ARGV: session, turn.
-- Answer: {'streaming', text}, or {'finished', message} with its stored message, false if that was removed.
--- @include "at"

if redis.call('EXISTS', at('flight', session, turn)) == 1 then
  return { 'streaming', redis.call('GET', at('output', session, turn)) or '' }
end
local index = redis.call('HGET', at('turns', session), turn .. '/index')
if not index then return { 'streaming', '' } end
return { 'finished', redis.call('ZRANGEBYSCORE', at('messages', session), index, index)[1] or false }
