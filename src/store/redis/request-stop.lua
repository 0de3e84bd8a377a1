-- A stop asked for, kept with the turn for its owner and told to all at once. The first reason stands.
local session, turn, reason, workspace_id, session_id, turn_id = unpack(ARGV)
local flight = at('flight', session, turn)
if redis.call('EXISTS', flight) == 0 then return 0 end
redis.call('HSETNX', flight, 'stop', reason)
publish({ type = 'turn.stop', workspaceId = workspace_id, sessionId = session_id, turnId = turn_id, reason = redis.call('HGET', flight, 'stop') })
return 1
