-- Seals the output into the transcript, all of it or up to the cut, frees the slot, counts the usage and moves the session.
-- KEYS: the workspace's root.
-- ARGV: session, turn, version, mark, epoch, owner, record, active, expires, state, turn_record, message, position, count, text, cut, account,
--   ended, failed, input, output, calls, cached, assistant, number, packed_time, channel, amends, move, audit_id, audit, delivery_head, event_at,
--   turn_event, session_event, ...settled.
-- Answer: {'finished', version}, {'lost'}, {'fenced'}, or {'hole', position} with where the output ends, if the text or
--   the cut lies beyond.
--- @include "amend-message"
--- @include "at"
--- @include "count-turn"
--- @include "count-usage"
--- @include "drop-points"
--- @include "int"
--- @include "is-ending"
--- @include "is-held"
--- @include "is-unmoved"
--- @include "now"
--- @include "put-audit"
--- @include "put-deliveries"
--- @include "put-message"
--- @include "put-move"
--- @include "put-session"
--- @include "remove-flight"
--- @include "settle-limits"
--- @include "skip-points"

local turns = at('turns', session)
local index, earlier = unpack(redis.call('HMGET', turns, turn .. '/index', turn .. '/finished'))
if not index then return { 'fenced' } end
if earlier then
  local moved = earlier:match(' (%d+)$')
  if earlier ~= epoch .. ' ' .. owner .. ' ' .. moved then return { 'fenced' } end
  return { 'finished', tonumber(moved) }
end
local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return { 'fenced' } end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return { 'lost' } end
local stored = tonumber(redis.call('HGET', flight, 'position'))
if tonumber(position) > stored then return { 'hole', stored } end

local rest, points = skip_points(text, tonumber(count), stored - position)
local content, ends = (redis.call('GET', at('output', session, turn)) or '') .. rest, stored + points
if cut ~= '' then
  if tonumber(cut) > ends then return { 'hole', ends } end
  content, ends = drop_points(content, ends - cut), tonumber(cut)
end
local ends_session = is_ending(session, state)
put_session(session, version + 1, record, active, expires, state, awaited)
put_move('session', session, move)
put_audit(audit_id, audit)
redis.call('HSET', turns, turn, turn_record, turn .. '/finished', epoch .. ' ' .. owner .. ' ' .. (version + 1))
put_message(session, index, int(ends), '', message, content)
amend_message(session, amends)
remove_flight(session, turn)
settle_limits(settled_at)
if ended == '' then ended = math.floor(now() / 1000) end
count_usage(account, ended, 0, 1, failed, input, output, 0, 0, calls, cached)
count_turn(assistant, number, 1, failed, 1, failed, packed_time, channel)
put_deliveries(tonumber(failed) == 1 and 'turn.failed' or 'turn.completed', turn_event, session, turn, delivery_head, event_at)
if ends_session then put_deliveries('session.' .. state, session_event, session, session, delivery_head, event_at) end
return { 'finished', version + 1 }
