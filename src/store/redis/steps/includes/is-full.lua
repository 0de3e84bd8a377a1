-- Whether all slots are taken: only those count whose lease still runs, and was not given before the clock was set back.
--- @include "int"

local function is_full(slots, slotsMax, time)
  return redis.call('ZCOUNT', slots, '(' .. int(time), int(time + LEASE_MS_MAX)) >= tonumber(slotsMax)
end
