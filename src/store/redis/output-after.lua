-- A turn and what of its text lies behind a position: the turn's record, how many code points that is, and bytes that end
-- with them; a negative number where the text does not reach the position. A code point has at most four bytes. Where a turn
-- in flight has none yet, the next are to be announced.
local session, turn, position, notice = unpack(ARGV)
local stands = redis.call('HMGET', at('turns', session), turn, turn .. '/index')
if not stands[1] then return false end
local flight = at('flight', session, turn)
local stored = redis.call('HGET', flight, 'position')
if stored then
  local fresh = stored - position
  if fresh > 0 then return { stands[1], fresh, redis.call('GETRANGE', at('output', session, turn), int(-4 * fresh), -1) } end
  redis.call('HSET', flight, 'awaited', notice)
  return { stands[1], fresh, '' }
end
local message = redis.call('ZRANGEBYSCORE', at('messages', session), stands[2], stands[2])[1] or '0:0::'
local fresh = message:match('^%d+:(%d+):') - position
if fresh <= 0 then return { stands[1], fresh, '' } end
return { stands[1], fresh, message:sub(-4 * fresh) }
