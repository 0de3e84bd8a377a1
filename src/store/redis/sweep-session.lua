-- A session past retention removed with all it holds, unless it moved since it was found or has a turn in flight: whether it is gone.
local session, retention = unpack(ARGV)
local active = redis.call('ZSCORE', at('activity'), session)
if not active then return 1 end
if tonumber(active) >= math.floor(now() / 1000) - retention then return 0 end
if redis.call('SCARD', at('flights', session)) > 0 then return 0 end
remove_session(session)
return 1
