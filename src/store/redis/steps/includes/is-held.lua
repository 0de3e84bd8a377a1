-- Whether the fence is the flight's own. Both parts must match: after a failover Redis may give the same epoch again.
local function is_held(flight, epoch, owner)
  local fence = redis.call('HMGET', flight, 'epoch', 'owner')
  return fence[1] == epoch and fence[2] == owner
end
