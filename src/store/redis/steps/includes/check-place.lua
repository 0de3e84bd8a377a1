-- Whether a limit of places passes, and the milliseconds until it may. Notes where the place would end. A place that ends later than the longest
-- lease (0 for none) was taken before the clock was set back, and is free.
--- @include "int"

local function check_place(limit, ceiling, lease, longest, time)
  redis.call('ZREMRANGEBYSCORE', limit.key, '-inf', int(time))
  if longest > 0 then
    local after = '(' .. int(time + longest)
    redis.call('ZREMRANGEBYSCORE', limit.key, after, '+inf')
    redis.call('ZREMRANGEBYSCORE', limit.seats, after, '+inf')
  end
  local count, earlier = redis.call('ZCARD', limit.key), redis.call('ZSCORE', limit.key, limit.earlier)
  local held = earlier or redis.call('ZSCORE', limit.key, limit.holder)
  limit.ends = math.max(tonumber(earlier or 0), tonumber(redis.call('ZSCORE', limit.seats, limit.seat) or 0), time + lease)
  if ceiling > 0 and (held or count < ceiling) then return true, 0 end
  if ceiling == 0 then return false, -1 end
  return false, redis.call('ZRANGE', limit.key, count - ceiling, count - ceiling, 'WITHSCORES')[2] - time
end
