-- Reads a turn and its text behind a position: the turn's record, how many code points that text has (negative if the stored text
-- does not reach the position), and bytes that end with it, because a code point has at most four bytes. If a turn in flight has no
-- text there yet, its next piece will be notified.
-- KEYS: the workspace's root.
-- ARGV: session, turn, position, channel, notice.
-- Answer: {record, points, bytes, calls}, with the calls of a turn in flight; false if there is no such turn or it is hidden.
--- @include "at"
--- @include "drop-points"
--- @include "int"
--- @include "read-calls"

local stands = redis.call('HMGET', at('turns', session), turn, turn .. '/index')
if not stands[1] then return false end
local flight = at('flight', session, turn)
local stored, released = unpack(redis.call('HMGET', flight, 'position', 'released'))
if stored then
  if released == '-1' then return false end
  local fresh, held = stored - position, 0
  if released then held = math.max(0, stored - released) end
  if fresh > held then
    local bytes = redis.call('GETRANGE', at('output', session, turn), int(-4 * fresh), -1)
    return { stands[1], fresh - held, drop_points(bytes, held), read_calls(flight) }
  end
  fresh = fresh - held
  if fresh == 0 then redis.call('HSET', flight, 'awaited', notice, 'awaitedOn', channel) end
  return { stands[1], fresh, '', read_calls(flight) }
end
local message = redis.call('ZRANGEBYSCORE', at('messages', session), stands[2], stands[2])[1] or '0:0::'
local fresh = message:match('^%d+:(%d+):') - position
if fresh <= 0 then return { stands[1], fresh, '' } end
return { stands[1], fresh, message:sub(-4 * fresh) }
