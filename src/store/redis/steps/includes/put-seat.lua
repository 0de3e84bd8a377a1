-- Takes a seat until it ends, or frees it, and moves the end of its holder's place.
--- @include "int"
--- @include "keep-places"

local function put_seat(limit, ends, time)
  if ends > time then redis.call('ZADD', limit.seats, int(ends), limit.seat) else redis.call('ZREM', limit.seats, limit.seat) end
  redis.call('ZREMRANGEBYSCORE', limit.seats, '-inf', int(time))
  redis.call('ZREM', limit.key, limit.earlier)
  local last = redis.call('ZRANGE', limit.seats, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('ZADD', limit.key, last, limit.holder) else redis.call('ZREM', limit.key, limit.holder) end
  keep_places(limit.seats, time)
  keep_places(limit.key, time)
end
