-- Appends pieces of output, each at its position in its turn, for the turn's owner only. The arguments of each piece: session, turn,
-- epoch, owner, position, count, text, lease. A piece may renew its turn's lease, and is answered with a request to stop. A notice is
-- published only if a reader waits for it.
-- KEYS: the workspace's root.
-- ARGV: ...pieces.
-- Answer: for each piece {'stored', stop} with the request to stop or false, {'fenced'}, or {'hole', position} with where the output ends.
local function appended(session, turn, epoch, owner, position, count, text, lease)
  local flight = at('flight', session, turn)
  if not held(flight, epoch, owner) then return { 'fenced' } end
  local stands = redis.call('HMGET', flight, 'position', 'stop', 'awaited')
  local stored, stop, awaited = tonumber(stands[1]), stands[2], stands[3]
  if tonumber(position) > stored then return { 'hole', stored } end
  if lease ~= '' and not renewed(flight, session .. '/' .. turn, lease) then return { 'fenced' } end
  local rest, points = unstored(text, tonumber(count), stored - position)
  if points > 0 then
    redis.call('APPEND', at('output', session, turn), rest)
    redis.call('HSET', flight, 'position', int(stored + points))
    if awaited then
      redis.call('HDEL', flight, 'awaited')
      announce(awaited)
    end
  end
  return { 'stored', stop }
end

local answers = {}
for each = pieces_at, #ARGV, 8 do answers[#answers + 1] = appended(unpack(ARGV, each, each + 7)) end
return answers
