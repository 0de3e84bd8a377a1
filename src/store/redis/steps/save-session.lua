-- Replaces a session if it still has the version and mark that the decision was made on.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, record, active, expires, state, write, move.
-- Answer: the new version; false if another writer has moved the session.
local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if not unmoved(session, version, mark) then return false end
put_session(session, version + 1, record, active, expires, state)
put_move('session', session, move)
once(write, version + 1)
return version + 1
