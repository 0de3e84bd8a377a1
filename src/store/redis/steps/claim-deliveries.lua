-- Leases due deliveries of the workspace's webhooks, the oldest of a webhook first.
-- KEYS: the workspace's root.
-- ARGV: owner, write, now_ms, until_ms, limit, ...skipped.
-- Answer: {webhooks, next, deliveries}: how many webhooks the workspace has; when the next delivery of any of them is due or its
--   lease ends, false without one; and webhook, id, event and state of each delivery. A repeat gets the same answer.
--- @include "at"
--- @include "keep-answer"

local earlier = redis.call('GET', at('write', write))
if earlier then return cmsgpack.unpack(earlier) end
local skipped, found, left = {}, {}, tonumber(limit)
for each = skipped_at, #ARGV do skipped[ARGV[each]] = true end
local webhooks = redis.call('ZRANGE', at('webhook', 'ids'), 0, -1)
for _, webhook in ipairs(webhooks) do
  if not skipped[webhook] and left > 0 then
    local due = at('deliveries', webhook, 'due')
    for _, id in ipairs(redis.call('ZRANGEBYSCORE', due, '-inf', now_ms, 'LIMIT', 0, left)) do
      redis.call('ZADD', due, until_ms, id)
      redis.call('HSET', at('deliveries', webhook), id .. '/owner', owner)
      local stored = redis.call('HMGET', at('deliveries', webhook), id, id .. '/state')
      for _, value in ipairs({ webhook, id, stored[1], stored[2] }) do found[#found + 1] = value end
      left = left - 1
    end
  end
end
local next = false
for _, webhook in ipairs(webhooks) do
  local first = redis.call('ZRANGE', at('deliveries', webhook, 'due'), 0, 0, 'WITHSCORES')[2]
  if first and (not next or tonumber(first) < tonumber(next)) then next = first end
end
local answer = { #webhooks, next, found }
if #found > 0 then keep_answer(write, cmsgpack.pack(answer)) end
return answer
