-- Moves a session at the desk: stores it with new messages, silences its turn in flight, takes the limits and remembers the request,
-- all or none. The rest of the arguments: record, content and points of each message, `messages` of them, then the limits.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, record, active, expires, state, desk, write, memory, memory_record, result, lasts, first, amends, silences,
--   lease, channel, notice, account, counted_at, people, handovers, audit_id, audit, delivery_head, event_at, event, source, messages, ...rest.
-- Answer: {'stored', version}; {'remembered', record} of an earlier request; {'lost'} if another writer has moved the session;
--   {'limited', ...} with the answers of `take_limits` if one of the limits refuses.
--- @include "amend-message"
--- @include "announce"
--- @include "at"
--- @include "count-usage"
--- @include "int"
--- @include "is-unmoved"
--- @include "keep-answer"
--- @include "now"
--- @include "put-audit"
--- @include "put-deliveries"
--- @include "put-message"
--- @include "put-session"
--- @include "recall"
--- @include "remember"
--- @include "take-limits"

local earlier = redis.call('GET', at('write', write))
if earlier then return { 'stored', tonumber(earlier) } end
if memory ~= '' then
  local remembered = recall(memory)
  if remembered then return { 'remembered', remembered } end
end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return { 'lost' } end
local limits_at = rest_at + 3 * messages
if limits_at <= #ARGV then
  local all, answers = take_limits(limits_at)
  if not all then return { 'limited', unpack(answers) } end
end

if memory ~= '' then remember(memory, memory_record, result, lasts) end
put_session(session, version + 1, record, active, expires, state, awaited)
if desk == '' then
  redis.call('ZREM', at('desk'), session)
else
  redis.call('ZADD', at('desk'), 0, session)
end
local index = tonumber(first)
for each = rest_at, limits_at - 1, 3 do
  put_message(session, int(index), ARGV[each + 2], '', ARGV[each], ARGV[each + 1])
  index = index + 1
end
amend_message(session, amends)
local flight = at('flight', session, silences)
local ends = silences ~= '' and redis.call('HGET', flight, 'lease')
if ends then
  redis.call('HSET', flight, 'stop', 'taken')
  local cut = now() + lease
  if cut < tonumber(ends) then
    redis.call('HSET', flight, 'lease', int(cut))
    redis.call('ZADD', at('leases'), int(cut), session .. '/' .. silences)
  end
  announce(channel, notice)
end
put_audit(audit_id, audit)
if people ~= '' then count_usage(account, counted_at, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, people, handovers) end
if event ~= '' then put_deliveries(event:match('^%S+'), event, session, source, delivery_head, event_at) end
keep_answer(write, version + 1)
return { 'stored', version + 1 }
