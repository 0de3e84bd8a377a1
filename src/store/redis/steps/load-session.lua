-- Loads a session from an export, with its index entries.
-- KEYS: the workspace's root.
-- ARGV: session, version, record, active, expires, state, assistant, withdrawn, trial, desk.
-- Answer: 1.
--- @include "at"
--- @include "put-session"

put_session(session, version, record, active, expires, state)
redis.call('HSET', at('session', session), 'assistant', assistant)
if trial ~= '' then redis.call('HSET', at('session', session), 'trial', 1) end
if trial ~= '' and state ~= 'ended' and state ~= 'expired' then redis.call('ZADD', at('trials'), expires, session) end
if desk ~= '' then redis.call('ZADD', at('desk'), 0, session) end
if withdrawn ~= '' then redis.call('HSET', at('session', session), 'withdrawn', withdrawn) end
redis.call('ZADD', at('sessions'), 0, session)
redis.call('ZADD', at('sessions', assistant), 0, session)
return 1
