-- Session, turn, both messages, the workspace's slot and the memory of the request, at once or not at all. A lease shorter
-- than usual comes with the workspace's id: who looks for leases that ran out must hear of it.
local session, turn, owner, version, mark, lease, slots_max = unpack(ARGV, 1, 7)
local record, active, expires, state, turn_record, index = unpack(ARGV, 8, 13)
local user, content, points, assistant, memory, memory_record, result, lasts, short = unpack(ARGV, 14, 22)
local begun = redis.call('HGET', at('turns', session), turn .. '/begun')
if begun then
  local epoch, first, moved = begun:match('^(%d+) (%S+) (%d+)$')
  if first ~= owner then return { 'lost' } end
  return { 'begun', tonumber(moved), tonumber(epoch) }
end
if not unmoved(session, version, mark) then return { 'lost' } end
local time = now()
if slots_max ~= '' and full(slots_max, time) then return { 'full' } end

local moved, member, ends = version + 1, session .. '/' .. turn, int(time + lease)
put_session(session, moved, record, active, expires, state)
redis.call('HSET', at('turns', session), turn, turn_record, turn .. '/index', index, turn .. '/begun', '1 ' .. owner .. ' ' .. moved)
put_message(session, index - 1, points, '', user, content)
put_message(session, index, -1, turn, assistant, '')
local flight = at('flight', session, turn)
redis.call('HSET', flight, 'epoch', 1, 'owner', owner, 'lease', ends, 'position', 0)
redis.call('SADD', at('flights', session), turn)
redis.call('ZADD', at('leases'), ends, member)
if slots_max ~= '' then
  redis.call('HSET', flight, 'slotsMax', slots_max)
  redis.call('ZADD', at('slots'), ends, member)
end
if memory ~= '' then
  redis.call('HSET', flight, 'memory', memory)
  remember(memory, memory_record, result, lasts)
end
if short then publish({ type = 'turn.leased', workspaceId = short, leaseMs = tonumber(lease) }) end
return { 'begun', moved, 1 }
