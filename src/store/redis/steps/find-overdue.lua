-- Finds sessions past their deadline that have not ended, of a workspace with an enabled webhook. Before that, bounded calls store the
-- deadlines of the sessions that are older than its first webhook.
-- KEYS: the workspace's root.
-- ARGV: time, limit, count.
-- Answer: {filling, sessions}: 1 if another call is needed for older sessions, and the ids.
--- @include "at"

local cursor = redis.call('GET', at('deadline-fill'))
if cursor then
  local sessions = redis.call('ZRANGEBYLEX', at('sessions'), cursor, '+', 'LIMIT', 0, count)
  for _, session in ipairs(sessions) do
    local state, expires, trial = unpack(redis.call('HMGET', at('session', session), 'state', 'expires', 'trial'))
    local is_open = state and state ~= 'ended' and state ~= 'expired'
    if is_open and not trial then redis.call('ZADD', at('deadlines'), expires, session) end
  end
  if #sessions < tonumber(count) then
    redis.call('DEL', at('deadline-fill'))
  else
    redis.call('SET', at('deadline-fill'), '(' .. sessions[#sessions])
  end
  return { 1, {} }
end
local found = {}
if redis.call('EXISTS', at('wants')) == 0 then return { 0, found } end
for _, session in ipairs(redis.call('ZRANGEBYSCORE', at('deadlines'), '-inf', time, 'LIMIT', 0, limit)) do
  local state = redis.call('HGET', at('session', session), 'state')
  if state and state ~= 'ended' and state ~= 'expired' then
    found[#found + 1] = session
  else
    redis.call('ZREM', at('deadlines'), session)
  end
end
return { 0, found }
