-- Undoes a turn: removes its messages, its slot, its usage and the memory of its request. For a turn that has not begun, it moves
-- the session all the same, so that a beginning under way is rejected. A claimed turn stays. For a finished turn the arguments name
-- its memory and its counts.
-- KEYS: the workspace's root.
-- ARGV: session, turn, version, mark, epoch, owner, record, active, expires, state, first, index, turn_id, given, account, ended, failed, input, output,
--   calls, cached, assistant, number, packed_time, channel, amends, move, delivery_head, event_at, session_event, ...settled.
-- Answer: {'finished', version}, {'lost'} or {'fenced'}.
--- @include "amend-message"
--- @include "at"
--- @include "count-turn"
--- @include "count-usage"
--- @include "drop-deliveries"
--- @include "forget"
--- @include "is-ending"
--- @include "is-held"
--- @include "is-unmoved"
--- @include "put-deliveries"
--- @include "put-move"
--- @include "put-session"
--- @include "remove-flight"
--- @include "settle-limits"

local fence = epoch .. ' ' .. owner
local withdrawn = redis.call('HGET', at('session', session), 'withdrawn')
if withdrawn then
  local earlier, its_fence, moved = withdrawn:match('^(%S+) (%d+ %S+) (%d+)$')
  if earlier == turn then
    if its_fence ~= fence then return { 'fenced' } end
    return { 'finished', tonumber(moved) }
  end
end
local turns, flight = at('turns', session), at('flight', session, turn)
local begun, finished, claimed = unpack(redis.call('HMGET', turns, turn .. '/begun', turn .. '/finished', turn .. '/claimed'))
if begun then
  if claimed or (finished and finished:match('^(%d+ %S+) ') ~= fence) then return { 'fenced' } end
  if not finished and not is_held(flight, epoch, owner) then return { 'fenced' } end
end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return { begun and 'lost' or 'fenced' } end
if finished and ended == '' then return { 'lost' } end

local ends_session = is_ending(session, state)
put_session(session, version + 1, record, active, expires, state, awaited)
put_move('session', session, move)
redis.call('HSET', at('session', session), 'withdrawn', turn .. ' ' .. fence .. ' ' .. (version + 1))
if begun then
  local memory = given
  if not finished then memory = redis.call('HGET', flight, 'memory') or '' end
  redis.call('ZREMRANGEBYSCORE', at('messages', session), first, index)
  amend_message(session, amends)
  redis.call('HDEL', turns, turn, turn .. '/index', turn .. '/begun', turn .. '/finished')
  if memory ~= '' and redis.call('HGET', at('memories'), memory .. '/result') == turn_id then forget(memory) end
  remove_flight(session, turn)
  if finished then
    count_usage(account, ended, 0, -1, -failed, -input, -output, 0, 0, -calls, -cached)
    drop_deliveries(session, turn)
    count_turn(assistant, number, -1, -failed, 0, 1 - failed, packed_time, channel)
  else
    count_turn(assistant, number, 0, 0, 1, 1, packed_time, channel)
  end
  settle_limits(settled_at)
end
if ends_session then put_deliveries('session.' .. state, session_event, session, session, delivery_head, event_at) end
return { 'finished', version + 1 }
