-- Removes a session past retention with its contents, unless it has moved since it was found or has a turn in flight.
-- KEYS: the workspace's root.
-- ARGV: session, retention, latest.
-- Answer: 1 if it is removed, else 0.
--- @include "at"
--- @include "now"
--- @include "remove-session"

local active = redis.call('ZSCORE', at('activity'), session)
if not active then return 1 end
if tonumber(active) >= math.floor(math.min(now(), latest) / 1000) - retention then return 0 end
if redis.call('SCARD', at('flights', session)) > 0 then return 0 end
remove_session(session)
return 1
