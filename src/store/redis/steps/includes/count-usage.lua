-- Counts usage by the second, and again by the hour. The seconds of an hour are in one hash. A trial, which counts nothing, has no
-- account here.
--- @include "add-counts"
--- @include "at"
--- @include "int"

local function count_usage(account, second, ...)
  if account == '' then return end
  second = tonumber(second)
  local hour = int(second - second % 3600)
  redis.call('SADD', at('usage'), account)
  add_counts(at('usage', account), hour, { ... })
  add_counts(at('usage', account, hour), int(second), { ... })
end
