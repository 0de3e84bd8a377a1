-- A session in place of the version that the decision was made on.
local session, version, record, active, expires, state, write = unpack(ARGV)
local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if redis.call('HGET', at('session', session), 'version') ~= version then return false end
put_session(session, version + 1, record, active, expires, state)
once(write, version + 1)
return version + 1
