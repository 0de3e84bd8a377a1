-- A session with its greeting, counted; or the request that is remembered.
local session, record, active, expires, state, assistant, created = unpack(ARGV, 1, 7)
local greeting, content, points, memory, memory_record, result, lasts = unpack(ARGV, 8, 14)
if redis.call('EXISTS', at('session', session)) == 1 then return { 'created' } end
if memory ~= '' then
  local earlier = remembered(memory)
  if earlier then return { 'remembered', earlier } end
  remember(memory, memory_record, result, lasts)
end
put_session(session, 1, record, active, expires, state)
redis.call('HSET', at('session', session), 'assistant', assistant)
redis.call('ZADD', at('sessions'), 0, session)
redis.call('ZADD', at('sessions', assistant), 0, session)
if greeting ~= '' then put_message(session, 0, points, '', greeting, content) end
count_usage(assistant, created, 1, 0, 0, 0, 0, 0, 0)
return { 'created' }
