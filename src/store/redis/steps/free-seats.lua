-- Frees seats of holders' places. The arguments of each: the limit's name, the holder, and the seat, empty for all of the holder.
-- KEYS: the workspace's root.
-- ARGV: ...seats.
-- Answer: 1.
--- @include "at"
--- @include "now"
--- @include "put-seat"

local time = now()
for each = seats_at, #ARGV, 3 do
  local name, holder, seat = ARGV[each], ARGV[each + 1], ARGV[each + 2]
  local limit = { key = at('limit', name), seats = at('limit', name, holder), holder = holder, seat = seat, earlier = holder .. '/' .. seat }
  if seat == '' then redis.call('DEL', limit.seats) end
  put_seat(limit, 0, time)
end
return 1
