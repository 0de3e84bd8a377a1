-- Removes a session with its contents, turns in flight included, counts them in the erasure and publishes that. A
-- session that is gone counts nothing.
-- KEYS: the workspace's root.
-- ARGV: session, erasure, turns, feedback, channel, workspace_id, session_id.
-- Answer: 1.
--- @include "at"
--- @include "publish"
--- @include "remove-session"

local is_there = redis.call('EXISTS', at('session', session)) == 1
local messages = redis.call('ZCARD', at('messages', session))
remove_session(session)
if is_there and redis.call('HEXISTS', at('erasures'), erasure) == 1 then
  redis.call('HINCRBY', at('erasures'), erasure .. '/sessions', 1)
  redis.call('HINCRBY', at('erasures'), erasure .. '/messages', messages)
  redis.call('HINCRBY', at('erasures'), erasure .. '/turns', turns)
  redis.call('HINCRBY', at('erasures'), erasure .. '/feedback', feedback)
end
publish(channel, { type = 'erased', workspaceId = workspace_id, kind = 'session', id = session_id })
return 1
