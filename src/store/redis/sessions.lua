-- Sessions that fit a filter, of one or several indexes in one order: as many as are wanted or a bounded look reaches.
local order, after, wanted, looks, since, status, time = unpack(ARGV, 1, 7)
local ascending, indexes = order == 'asc', #ARGV - 7
local share = math.max(8, math.ceil(looks / indexes))
local function comes_first(a, b)
  if ascending then return a < b end
  return a > b
end

-- Beyond the end of an index's share there may be more of it: what the others hold beyond waits for the next look.
local ids, bound = {}, nil
for each = 8, #ARGV do
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
    if #records == tonumber(wanted) then return { false, records } end
  end
end
return { bound or false, records }
