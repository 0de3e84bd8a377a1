-- Ends an erasure; an erasure of a visitor is published. A repeat gets the same answer.
-- KEYS: the workspace's root.
-- ARGV: erasure, write, channel, workspace_id, kind, id.
-- Answer: the numbers of sessions, messages, turns and ratings that it has removed, as one text.
--- @include "at"
--- @include "keep-answer"
--- @include "publish"

local earlier = redis.call('GET', at('write', write))
if earlier then return earlier end
local names = { erasure .. '/sessions', erasure .. '/messages', erasure .. '/turns', erasure .. '/feedback' }
local counts = redis.call('HMGET', at('erasures'), unpack(names))
redis.call('HDEL', at('erasures'), erasure, unpack(names))
local answer = (counts[1] or 0) .. ' ' .. (counts[2] or 0) .. ' ' .. (counts[3] or 0) .. ' ' .. (counts[4] or 0)
keep_answer(write, answer)
if kind == 'visitor' then publish(channel, { type = 'erased', workspaceId = workspace_id, kind = kind, id = id }) end
return answer
