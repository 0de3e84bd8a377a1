-- Adds counts to the sums in a field. A withdrawn turn's counts are subtracted; after a failover they may be missing already, so no sum
-- goes below zero.
--- @include "int"

local function add_counts(key, field, counts)
  local sums = {}
  for number in (redis.call('HGET', key, field) or ''):gmatch('%d+') do sums[#sums + 1] = number end
  for index, count in ipairs(counts) do sums[index] = int(math.max(0, (sums[index] or 0) + count)) end
  redis.call('HSET', key, field, table.concat(sums, ','))
end
