-- The owner's lease on a turn and its slot, prolonged.
local session, turn, epoch, owner, lease = unpack(ARGV)
local flight = at('flight', session, turn)
if not held(flight, epoch, owner) then return { 'fenced' } end
if not renewed(flight, session .. '/' .. turn, lease) then return { 'fenced' } end
return { 'renewed', redis.call('HGET', flight, 'stop') }
