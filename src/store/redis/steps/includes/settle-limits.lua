-- Charges use that has ended, or refunds it. The arguments as of `take_limits`; a counter has where its period began
-- in place of a lease.
--- @include "at"
--- @include "now"
--- @include "put-seat"
--- @include "read-seat"
--- @include "settle-bucket"
--- @include "settle-counter"

local function settle_limits(from)
  if from > #ARGV then return end
  local time = now()
  for each = from, #ARGV, 8 do
    local kind, key, number = ARGV[each], at('limit', ARGV[each + 1]), tonumber(ARGV[each + 7])
    local ceiling, period, cost = tonumber(ARGV[each + 2]), tonumber(ARGV[each + 3]), tonumber(ARGV[each + 4])
    if kind == 'counter' then
      settle_counter(key, cost, number, period, time)
    elseif kind == 'bucket' then
      settle_bucket(key, ceiling, period, cost, time)
    else
      put_seat(read_seat(each), time + number, time)
    end
  end
end
