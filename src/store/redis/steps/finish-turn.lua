-- Seals the output into the transcript, frees the slot, counts the usage and moves the session.
-- KEYS: the workspace's root.
-- ARGV: session, turn, version, mark, epoch, owner, record, active, expires, state, turn_record, message, position, count, text, account, ended,
--   failed, input, output, move.
-- Answer: {'finished', version}, {'lost'}, {'fenced'}, or {'hole', position} with where the output ends.
local turns = at('turns', session)
local index, earlier = unpack(redis.call('HMGET', turns, turn .. '/index', turn .. '/finished'))
if not index then return { 'fenced' } end
if earlier then
  local moved = earlier:match(' (%d+)$')
  if earlier ~= epoch .. ' ' .. owner .. ' ' .. moved then return { 'fenced' } end
  return { 'finished', tonumber(moved) }
end
local flight = at('flight', session, turn)
if not held(flight, epoch, owner) then return { 'fenced' } end
if not unmoved(session, version, mark) then return { 'lost' } end
local stored = tonumber(redis.call('HGET', flight, 'position'))
if tonumber(position) > stored then return { 'hole', stored } end

local rest, points = unstored(text, tonumber(count), stored - position)
local content = (redis.call('GET', at('output', session, turn)) or '') .. rest
put_session(session, version + 1, record, active, expires, state)
put_move('session', session, move)
redis.call('HSET', turns, turn, turn_record, turn .. '/finished', epoch .. ' ' .. owner .. ' ' .. (version + 1))
put_message(session, index, int(stored + points), '', message, content)
landed(session, turn)
if ended == '' then ended = math.floor(now() / 1000) end
count_usage(account, ended, 0, 1, failed, input, output, 0, 0)
return { 'finished', version + 1 }
