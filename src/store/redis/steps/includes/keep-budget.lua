-- Keeps a budget for two minutes: within that time a bucket refills from its deepest debt, and a full bucket need not be stored.
-- About once in 256 calls, lanes are removed that their senders no longer use: such a sender has ended, or has fewer steps under
-- way. A sender waits seconds for an answer, never a minute.
local function keep_budget(key, time)
  redis.call('PEXPIRE', key, BUDGET_FULL_MS)
  if time % 256 ~= 0 then return end
  local stored = redis.call('HGETALL', key)
  for each = 1, #stored, 2 do
    local newest = stored[each]:find('/', 1, true) and stored[each + 1]:match('^%d+ (%d+)')
    if newest and tonumber(newest) < time - STEP_KEPT_MS then redis.call('HDEL', key, stored[each]) end
  end
end
