-- Whether all slots are taken: only those count whose lease still runs.
--- @include "int"

local function is_full(slots, slotsMax, time)
  return redis.call('ZCOUNT', slots, '(' .. int(time), '+inf') >= tonumber(slotsMax)
end
