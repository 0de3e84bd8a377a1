-- Reads sessions that pass a filter from one or several indexes, in one order: up to `wanted` of them, or as many as a bounded scan finds.
-- KEYS: the workspace's root.
-- ARGV: order, after, wanted, looks, since, status, time, ...indexes.
-- Answer: {bound, records}: behind which the next scan begins, false at the end, and the records found.
--- @include "at"

local ascending = order == 'asc'
local share = math.max(8, math.ceil(looks / (#ARGV - indexes_at + 1)))
local function comes_first(a, b)
  if ascending then return a < b end
  return a > b
end

-- An index whose share is used up may have more ids: ids of the other indexes beyond that point wait for the next scan.
local ids, bound = {}, nil
for each = indexes_at, #ARGV do
  local found
  if ascending then
    found = redis.call('ZRANGEBYLEX', root .. ARGV[each], after == '' and '-' or '(' .. after, '+', 'LIMIT', 0, share)
  else
    found = redis.call('ZREVRANGEBYLEX', root .. ARGV[each], after == '' and '+' or '(' .. after, '-', 'LIMIT', 0, share)
  end
  for _, id in ipairs(found) do ids[#ids + 1] = id end
  local last = found[share]
  if last and (not bound or comes_first(last, bound)) then bound = last end
end
table.sort(ids, comes_first)

local function fits(row)
  if tonumber(row[2]) < tonumber(since) then return false end
  if status == '' then return true end
  if row[4] == 'ended' or row[4] == 'expired' then return row[4] == status end
  return status == (tonumber(row[3]) <= tonumber(time) and 'expired' or 'open')
end

local records = {}
for _, id in ipairs(ids) do
  if bound and comes_first(bound, id) then break end
  local row = redis.call('HMGET', at('session', id), 'record', 'active', 'expires', 'state')
  if row[1] and fits(row) then
    records[#records + 1] = row[1]
    if #records == tonumber(wanted) then return { id, records } end
  end
end
return { bound or false, records }
