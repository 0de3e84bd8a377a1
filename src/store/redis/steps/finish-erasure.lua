-- Ends an erasure; an erasure of a visitor is published. A repeat gets the same answer.
-- KEYS: the workspace's root.
-- ARGV: erasure, write, channel, workspace_id, kind, id.
-- Answer: the numbers of sessions, messages, turns, ratings and tests that it has removed, as one text.
--- @include "at"
--- @include "keep-answer"
--- @include "publish"

local earlier = redis.call('GET', at('write', write))
if earlier then return earlier end
local names = {}
for _, each in ipairs({ 'sessions', 'messages', 'turns', 'feedback', 'tests' }) do table.insert(names, erasure .. '/' .. each) end
local counts = redis.call('HMGET', at('erasures'), unpack(names))
redis.call('HDEL', at('erasures'), erasure, unpack(names))
for each = 1, #names do counts[each] = counts[each] or 0 end
local answer = table.concat(counts, ' ')
keep_answer(write, answer)
if kind == 'visitor' then publish(channel, { type = 'erased', workspaceId = workspace_id, kind = kind, id = id }) end
return answer
