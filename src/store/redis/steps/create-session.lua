-- Creates a session with its greeting and earlier messages and counts it, or returns the remembered request. A trial has a number of trials that may be
-- open at a time. A trial and a session of a test (`uncounted`) count nothing. The last arguments are record, content and points of each message from before the session.
-- KEYS: the workspace's root.
-- ARGV: session, record, active, expires, state, assistant, account, created, message, content, points, memory, memory_record, result, lasts,
--   replaces, trials, uncounted, revision, number, run, move, audit_id, audit, ...earlier.
-- Answer: {'created'}, also for a repeat of this step; {'remembered', record} of an earlier request; {'outdated'} if the versions that people get
--   have changed; {'gone'} if its run has been removed; or {'full'}.
--- @include "add-counts"
--- @include "at"
--- @include "count-usage"
--- @include "is-outdated"
--- @include "is-there"
--- @include "now"
--- @include "put-audit"
--- @include "put-message"
--- @include "put-move"
--- @include "put-session"
--- @include "recall"
--- @include "remember"

if redis.call('EXISTS', at('session', session)) == 1 then return { 'created' } end
if memory ~= '' then
  local earlier = recall(memory)
  if earlier and redis.call('HGET', at('memories'), memory .. '/result') ~= replaces then return { 'remembered', earlier } end
end
if is_outdated(assistant, revision) then return { 'outdated' } end
if run ~= '' and not is_there('test_run', run) then return { 'gone' } end
if trials ~= '' then
  redis.call('ZREMRANGEBYSCORE', at('trials'), '-inf', math.floor(now() / 1000))
  if redis.call('ZCARD', at('trials')) >= tonumber(trials) then return { 'full' } end
  redis.call('ZADD', at('trials'), expires, session)
end
if memory ~= '' then remember(memory, memory_record, result, lasts) end
put_session(session, 1, record, active, expires, state)
if uncounted == '' and redis.call('EXISTS', at('wants')) == 1 then redis.call('ZADD', at('deadlines'), expires, session) end
put_move('session', session, move)
put_audit(audit_id, audit)
redis.call('HSET', at('session', session), 'assistant', assistant)
if uncounted ~= '' then redis.call('HSET', at('session', session), 'trial', 1) end
redis.call('ZADD', at('sessions'), 0, session)
redis.call('ZADD', at('sessions', assistant), 0, session)
local index = 0
if message ~= '' then
  put_message(session, index, points, '', message, content)
  index = 1
end
for each = earlier_at, #ARGV, 3 do
  put_message(session, index, ARGV[each + 2], '', ARGV[each], ARGV[each + 1])
  index = index + 1
end
if number ~= '' then add_counts(at('release', assistant), 'counts/' .. number, { 1 }) end
count_usage(uncounted == '' and account or '', created, 1, 0, 0, 0, 0, 0, 0)
return { 'created' }
