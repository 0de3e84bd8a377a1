-- Whether the session still has the version of a decision, and its mark as the record contains it (empty if it had none). Both parts
-- must match: after a failover Redis may give the same version again. Returns also the notice that a follower waits for.
--- @include "at"

local function is_unmoved(session, version, mark)
  local stored = redis.call('HMGET', at('session', session), 'version', 'record', 'awaited')
  return stored[1] == version and stored[2]:find(mark, 1, true) ~= nil, stored[3]
end
