-- Prolongs a lease and its slot. A slot that has lapsed meanwhile is taken again only if it is still free.
--- @include "at"
--- @include "int"
--- @include "is-full"
--- @include "name-slots"
--- @include "now"

local function renew_lease(flight, member, lease)
  local time = now()
  local named = redis.call('HMGET', flight, 'slotsMax', 'slots')
  if named[1] then
    local slots = name_slots(named[2])
    local slot = redis.call('ZSCORE', slots, member)
    if (not slot or tonumber(slot) <= time) and is_full(slots, named[1], time) then return false end
    redis.call('ZADD', slots, int(time + lease), member)
  end
  redis.call('HSET', flight, 'lease', int(time + lease))
  redis.call('ZADD', at('leases'), int(time + lease), member)
  return true
end
