-- Takes several limits at once, or none of them: the arithmetic of machines/budget.ts, number for number. The arguments of each
-- limit, from `from` on: kind, name, ceiling, period, cost, holder, seat, lease. A key expires once it no longer changes any answer.
-- Returns whether all pass, and for each limit 1 if it passes or 0, and the milliseconds until it may: 0 if it passes, -1 if it
-- never will.
--- @include "at"
--- @include "int"
--- @include "check-place"
--- @include "check-rate"
--- @include "now"
--- @include "put-seat"
--- @include "read-seat"

local function take_limits(from)
  local time, taken, answer, all = now(), {}, {}, true
  for each = from, #ARGV, 8 do
    local limit = ARGV[each] == 'place' and read_seat(each) or { kind = ARGV[each], key = at('limit', ARGV[each + 1]) }
    local ceiling, passed, wait = tonumber(ARGV[each + 2]), false, -1
    if limit.kind == 'place' then
      passed, wait = check_place(limit, ceiling, tonumber(ARGV[each + 7]), tonumber(ARGV[each + 3]), time)
    else
      passed, wait = check_rate(limit, ceiling, tonumber(ARGV[each + 3]), tonumber(ARGV[each + 4]), time)
    end
    all = all and passed
    taken[#taken + 1] = limit
    answer[#answer + 1] = passed and 1 or 0
    answer[#answer + 1] = wait
  end
  for _, limit in ipairs(all and taken or {}) do
    if limit.kind == 'place' then
      put_seat(limit, limit.ends, time)
    else
      redis.call('SET', limit.key, limit.stored, 'PX', int(limit.ends - time + STEP_KEPT_MS))
    end
  end
  return all, answer
end
