-- Stores session, turn, both messages, the turn's slot, its limits and the memory of the request, all or none. A lease shorter than usual comes
-- with the workspace's id: the processes that look for lapsed leases must be notified of it.
-- KEYS: the workspace's root.
-- ARGV: session, turn, owner, version, mark, lease, slots, slots_max, record, active, expires, state, turn_record, index, message, content, points, reply,
--   memory, memory_record, result, lasts, found, found_record, found_result, found_lasts, short, channel, released, amends, move, audit_id,
--   audit, assistant, revision, ...asked.
-- Answer: {'begun', version, epoch}, {'remembered', record} if an earlier request with this memory is, {'lost'} if another writer has moved the session, {'outdated'} if the versions that people get have changed, {'full'} if no slot of the name is free,
--   {'limited', ...} with the answers of `take_limits` if one of the limits refuses.
--- @include "amend-message"
--- @include "at"
--- @include "int"
--- @include "is-full"
--- @include "is-outdated"
--- @include "is-unmoved"
--- @include "name-slots"
--- @include "now"
--- @include "publish"
--- @include "put-audit"
--- @include "put-message"
--- @include "put-move"
--- @include "put-session"
--- @include "recall"
--- @include "remember"
--- @include "take-limits"

local begun = redis.call('HGET', at('turns', session), turn .. '/begun')
if begun then
  local epoch, first, moved = begun:match('^(%d+) (%S+) (%d+)$')
  if first ~= owner then return { 'lost' } end
  return { 'begun', tonumber(moved), tonumber(epoch) }
end
if memory ~= '' then
  local earlier = recall(memory)
  if earlier then return { 'remembered', earlier } end
end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return { 'lost' } end
if is_outdated(assistant, revision) then return { 'outdated' } end
local time = now()
if slots ~= '' and is_full(name_slots(slots), slots_max, time) then return { 'full' } end
if asked_at <= #ARGV then
  local all, answers = take_limits(asked_at)
  if not all then return { 'limited', unpack(answers) } end
end

local moved, member, ends = version + 1, session .. '/' .. turn, int(time + lease)
put_session(session, moved, record, active, expires, state, awaited)
put_move('session', session, move)
put_audit(audit_id, audit)
redis.call('HSET', at('turns', session), turn, turn_record, turn .. '/index', index, turn .. '/begun', '1 ' .. owner .. ' ' .. moved)
if message ~= '' then put_message(session, index - 1, points, '', message, content) end
amend_message(session, amends)
put_message(session, index, -1, turn, reply, '')
local flight = at('flight', session, turn)
redis.call('HSET', flight, 'epoch', 1, 'owner', owner, 'lease', ends, 'position', 0)
redis.call('SADD', at('flights', session), turn)
redis.call('ZADD', at('leases'), ends, member)
if released ~= '' then redis.call('HSET', flight, 'released', released) end
if slots ~= '' then
  redis.call('HSET', flight, 'slots', slots, 'slotsMax', slots_max)
  redis.call('ZADD', name_slots(slots), ends, member)
end
if memory ~= '' then
  redis.call('HSET', flight, 'memory', memory)
  remember(memory, memory_record, result, lasts)
end
if found ~= '' then remember(found, found_record, found_result, found_lasts) end
if short ~= '' then publish(channel, { type = 'turn.leased', workspaceId = short, leaseMs = tonumber(lease) }) end
return { 'begun', moved, 1 }
