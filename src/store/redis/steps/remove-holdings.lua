-- Removes one bounded batch of a removed workspace's rows, its records first. The batch that removes records publishes
-- the workspace's removal again: a process may have read them since the first notice.
-- KEYS: the workspace's root.
-- ARGV: limit, channel, workspace_id.
-- Answer: 1 when nothing is left, else 0.
--- @include "at"
--- @include "publish"
--- @include "remove-session"
--- @include "unlink-deliveries"

local left = tonumber(limit)
for _, key in ipairs(redis.call('ZRANGE', at('key', 'ids'), 0, -1)) do redis.call('UNLINK', at('budget', key), at('history', 'key', key)) end
for _, assistant in ipairs(redis.call('ZRANGE', at('assistant', 'ids'), 0, -1)) do redis.call('UNLINK', at('history', 'assistant', assistant), at('release', assistant)) end
for _, webhook in ipairs(redis.call('ZRANGE', at('webhook', 'ids'), 0, -1)) do unlink_deliveries(webhook) end
local records = 0
for _, kind in ipairs({ 'key', 'assistant', 'assistant_version', 'assistant_test', 'test_run', 'test_result', 'credential', 'tool', 'webhook' }) do records = records + redis.call('UNLINK', at(kind), at(kind, 'ids')) end
redis.call('UNLINK', at('aliases'), at('used'), at('memories'), at('memory-ends'), at('erasures'), at('wants'), at('deadline-fill'), at('deadlines'))
if records > 0 then publish(channel, { type = 'changed', kind = 'workspace', workspaceId = workspace_id, id = workspace_id }) end

local sessions = redis.call('ZRANGE', at('sessions'), 0, left - 1)
for _, session in ipairs(sessions) do remove_session(session) end
left = left - #sessions
if left <= 0 then return 0 end

for _, account in ipairs(redis.call('SMEMBERS', at('usage'))) do
  local key = at('usage', account)
  local found = redis.call('HSCAN', key, 0, 'COUNT', left)[2]
  for each = 1, #found, 2 do
    redis.call('UNLINK', at('usage', account, found[each]))
    redis.call('HDEL', key, found[each])
  end
  left = left - #found / 2
  if redis.call('EXISTS', key) == 0 then redis.call('SREM', at('usage'), account) end
  if left <= 0 then return 0 end
end
redis.call('UNLINK', at('slots'), at('leases'), at('activity'), at('trials'), at('desk'))
return redis.call('EXISTS', at('usage')) == 0 and 1 or 0
