-- Reads the budgets of keys, and when each key was used last. Charges nothing.
-- KEYS: the workspace's root.
-- ARGV: ...ids.
-- Answer: Redis's time, then {used, requests, speech, transcriptionTokens} for each key.
--- @include "at"
--- @include "int"
--- @include "now"

local answer = { int(now()) }
for each = ids_at, #ARGV do
  local used = redis.call('HGET', at('used'), ARGV[each])
  local stored = redis.call('HMGET', at('budget', ARGV[each]), 'requests', 'speech', 'transcriptionTokens')
  answer[#answer + 1] = { used, stored[1], stored[2], stored[3] }
end
return answer
