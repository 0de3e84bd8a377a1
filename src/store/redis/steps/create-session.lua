-- Creates a session with its greeting and counts it, or returns the remembered request.
-- KEYS: the workspace's root.
-- ARGV: session, record, active, expires, state, assistant, created, message, content, points, memory, memory_record, result, lasts, move.
-- Answer: {'created'}, also for a repeat of this step; or {'remembered', record} of an earlier request.
if redis.call('EXISTS', at('session', session)) == 1 then return { 'created' } end
if memory ~= '' then
  local earlier = remembered(memory)
  if earlier then return { 'remembered', earlier } end
  remember(memory, memory_record, result, lasts)
end
put_session(session, 1, record, active, expires, state)
put_move('session', session, move)
redis.call('HSET', at('session', session), 'assistant', assistant)
redis.call('ZADD', at('sessions'), 0, session)
redis.call('ZADD', at('sessions', assistant), 0, session)
if message ~= '' then put_message(session, 0, points, '', message, content) end
count_usage(assistant, created, 1, 0, 0, 0, 0, 0, 0)
return { 'created' }
