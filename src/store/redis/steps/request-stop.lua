-- Requests that a turn stops: stored with the turn for its owner, and published; cuts the lease. The first reason is kept.
-- KEYS: the workspace's root.
-- ARGV: session, turn, reason, lease, channel, workspace_id, session_id, turn_id, audit_id, audit.
-- Answer: 1 if the turn is in flight, else 0.
--- @include "at"
--- @include "int"
--- @include "now"
--- @include "publish"
--- @include "put-audit"

local flight = at('flight', session, turn)
local stands = redis.call('HMGET', flight, 'lease', 'stop')
if not stands[1] then return 0 end
local ends = now() + lease
if ends < tonumber(stands[1]) then
  redis.call('HSET', flight, 'lease', int(ends))
  redis.call('ZADD', at('leases'), int(ends), session .. '/' .. turn)
end
if not stands[2] then
  redis.call('HSET', flight, 'stop', reason)
  put_audit(audit_id, audit)
end
local notice = { type = 'turn.stop', workspaceId = workspace_id, sessionId = session_id, turnId = turn_id, reason = stands[2] or reason }
notice.leaseMs = tonumber(lease)
publish(channel, notice)
return 1
