-- A session in place of the move that the decision was made on.
local session, version, mark, record, active, expires, state, write = unpack(ARGV)
local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if not unmoved(session, version, mark) then return false end
put_session(session, version + 1, record, active, expires, state)
once(write, version + 1)
return version + 1
