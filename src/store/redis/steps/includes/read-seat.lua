-- Reads a seat from the arguments of its limit. A place's limit has a sorted set of the holders, by the end of each
-- one's place, and one of each holder's seats, by their ends: a holder has one place for all of its seats, until the
-- last of them has ended. The version before had the seats of all in the first set, as HOLDER/SEAT: they count as
-- holders until they end or are taken or settled again.
--- @include "at"

local function read_seat(each)
  local name, holder, seat = ARGV[each + 1], ARGV[each + 5], ARGV[each + 6]
  return { kind = 'place', key = at('limit', name), seats = at('limit', name, holder), holder = holder, seat = seat, earlier = holder .. '/' .. seat }
end
