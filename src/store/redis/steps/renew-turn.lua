-- Prolongs the owner's lease on a turn and its slot.
-- KEYS: the workspace's root.
-- ARGV: session, turn, epoch, owner, lease.
-- Answer: {'renewed', stop} with the request to stop or false, or {'fenced'}.
--- @include "at"
--- @include "is-held"
--- @include "renew-lease"

local flight = at('flight', session, turn)
if not is_held(flight, epoch, owner) then return { 'fenced' } end
if not renew_lease(flight, session .. '/' .. turn, lease) then return { 'fenced' } end
return { 'renewed', redis.call('HGET', flight, 'stop') }
