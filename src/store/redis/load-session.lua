-- A session as another store had it, with its place in the indexes.
local session, version, record, active, expires, state, assistant, withdrawn = unpack(ARGV)
put_session(session, version, record, active, expires, state)
redis.call('HSET', at('session', session), 'assistant', assistant)
if withdrawn ~= '' then redis.call('HSET', at('session', session), 'withdrawn', withdrawn) end
redis.call('ZADD', at('sessions'), 0, session)
redis.call('ZADD', at('sessions', assistant), 0, session)
return 1
