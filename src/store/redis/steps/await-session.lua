-- Reads a session, and notes that its next move or its removal is notified.
-- KEYS: the workspace's root.
-- ARGV: session, channel, notice.
-- Answer: {record, version}; false if there is no such session.
--- @include "at"

local key = at('session', session)
local stored = redis.call('HMGET', key, 'record', 'version')
if not stored[1] then return false end
redis.call('HSET', key, 'awaited', channel .. '\n' .. notice)
return stored
