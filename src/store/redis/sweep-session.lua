-- A session past retention removed with all it holds, unless it moved since it was found or has a turn in flight.
local session, retention = unpack(ARGV)
local active = redis.call('ZSCORE', at('activity'), session)
if not active or tonumber(active) >= math.floor(now() / 1000) - retention then return 0 end
if redis.call('SCARD', at('flights', session)) > 0 then return 0 end
remove_session(session)
return 1
