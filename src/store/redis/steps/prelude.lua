-- The code that steps share. A step gets those of the functions, between blank lines, that it calls (scripts.ts). KEYS[1] is the
-- root of a workspace's keys: all of them are built from it and are in its slot.
local root = KEYS[1]

local function at(...)
  return root .. ':' .. table.concat({ ... }, ':')
end

-- Redis's time in milliseconds since the epoch: no step uses a process's own clock.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- All digits of a whole number: Lua's own conversion writes only fourteen.
local function int(number)
  return string.format('%.0f', number)
end

local function announce(text)
  redis.call('PUBLISH', root:match('^([^{]*)') .. 'notices', text)
end

local function publish(notice)
  announce(cjson.encode(notice))
end

-- Keeps the answer of a write for a repeat after a lost reply. The sender retries for seconds, never for a minute.
local function once(write, answer)
  redis.call('SET', at('write', write), answer, 'PX', STEP_KEPT_MS)
end

-- Whether a lane has reached a number or passed it; if so, also when, and the answer then.
local function passed_by(stood, number)
  local newest, time, answer = (stood or ''):match('^(%d+) (%d+) ?(.*)$')
  if newest and tonumber(newest) >= tonumber(number) then return true, time, answer end
end

-- Keeps a budget for two minutes: within that time a bucket refills from its deepest debt, and a full bucket need not be stored.
-- About once in 256 calls, lanes are removed that their senders no longer use: such a sender has ended, or has fewer steps under
-- way. A sender waits seconds for an answer, never a minute.
local function keep_budget(key, time)
  redis.call('PEXPIRE', key, BUDGET_FULL_MS)
  if time % 256 ~= 0 then return end
  local stored = redis.call('HGETALL', key)
  for each = 1, #stored, 2 do
    local newest = stored[each]:find('/', 1, true) and stored[each + 1]:match('^%d+ (%d+)')
    if newest and tonumber(newest) < time - STEP_KEPT_MS then redis.call('HDEL', key, stored[each]) end
  end
end

-- Notes the minute in which a key was used last, apart from its budgets, which are kept for two minutes only. Within a minute the
-- first request alone writes it.
local function note_use(key, id, time, noted)
  local minute = math.floor(time / 60000) * 60
  if noted and tonumber(noted) >= minute then return end
  redis.call('HSET', key, 'used', minute)
  redis.call('HSET', at('used'), id, minute)
end

-- Whether the fence is the flight's own. Both parts must match: after a failover Redis may give the same epoch again.
local function held(flight, epoch, owner)
  local fence = redis.call('HMGET', flight, 'epoch', 'owner')
  return fence[1] == epoch and fence[2] == owner
end

-- The slots of a name, each with the end of its lease. The slots `api` keep the key that they had before slots had names.
local function slots_of(name)
  return (not name or name == 'api') and at('slots') or at('slots', name)
end

local function full(slots, slotsMax, time)
  return redis.call('ZCOUNT', slots, '(' .. int(time), '+inf') >= tonumber(slotsMax)
end

-- Prolongs a lease and its slot. A slot that has lapsed meanwhile is taken again only if it is still free.
local function renewed(flight, member, lease)
  local time = now()
  local named = redis.call('HMGET', flight, 'slotsMax', 'slots')
  if named[1] then
    local slots = slots_of(named[2])
    local slot = redis.call('ZSCORE', slots, member)
    if (not slot or tonumber(slot) <= time) and full(slots, named[1], time) then return false end
    redis.call('ZADD', slots, int(time + lease), member)
  end
  redis.call('HSET', flight, 'lease', int(time + lease))
  redis.call('ZADD', at('leases'), int(time + lease), member)
  return true
end

-- Removes all keys of a turn in flight; the turn's record stays. Publishes the notice that a reader waits for.
local function landed(session, turn)
  local member, stood = session .. '/' .. turn, redis.call('HMGET', at('flight', session, turn), 'awaited', 'slots')
  if stood[1] then announce(stood[1]) end
  redis.call('ZREM', slots_of(stood[2]), member)
  redis.call('ZREM', at('leases'), member)
  redis.call('SREM', at('flights', session), turn)
  redis.call('DEL', at('flight', session, turn), at('output', session, turn))
end

-- The rest of a piece after its first `skip` code points, and the number of code points in it.
local function unstored(text, count, skip)
  if skip <= 0 then return text, count end
  if skip >= count then return '', 0 end
  local byte = 1
  for _ = 1, skip do
    byte = text:find('[%z\1-\127\192-\255]', byte + 1)
  end
  return text:sub(byte), count - skip
end

-- Stores a message at its index: index, code points (-1 while it streams), turn while it streams, length of the record, record, text.
local function put_message(session, index, points, turn, record, content)
  local key = at('messages', session)
  redis.call('ZREMRANGEBYSCORE', key, index, index)
  redis.call('ZADD', key, index, index .. ':' .. points .. ':' .. turn .. ':' .. #record .. ':' .. record .. content)
end

local function whole(session, member)
  local points, turn = member:match('^%d+:(-?%d+):([^:]*):')
  if points ~= '-1' then return member end
  return member .. (redis.call('GET', at('output', session, turn)) or '')
end

-- Whether the session still has the version of a decision, and its mark as the record contains it (empty if it had none). Both parts
-- must match: after a failover Redis may give the same version again.
local function unmoved(session, version, mark)
  local stored = redis.call('HMGET', at('session', session), 'version', 'record')
  return stored[1] == version and stored[2]:find(mark, 1, true) ~= nil
end

-- Stores a session. Beside its record are the fields that lists and sweeps read.
local function put_session(session, version, record, active, expires, state)
  redis.call('HSET', at('session', session), 'version', version, 'record', record, 'active', active, 'expires', expires, 'state', state)
  redis.call('ZADD', at('activity'), active, session)
  if state == 'ended' or state == 'expired' then redis.call('ZREM', at('trials'), session) end
end

-- Adds a step to an actor's history, if the sender keeps one; the oldest beyond what is kept are dropped.
local function put_move(kind, id, move)
  if move == '' then return end
  local key = at('history', kind, id)
  if redis.call('RPUSH', key, move) > MOVES_KEPT then redis.call('LTRIM', key, -MOVES_KEPT, -1) end
end

local function remember(memory, record, result, lasts)
  redis.call('HSET', at('memories'), memory, record, memory .. '/result', result)
  redis.call('ZADD', at('memory-ends'), int(now() + lasts), memory)
end

local function forget(memory)
  redis.call('HDEL', at('memories'), memory, memory .. '/result')
  redis.call('ZREM', at('memory-ends'), memory)
end

local function remembered(memory)
  local ends = redis.call('ZSCORE', at('memory-ends'), memory)
  if not ends or tonumber(ends) <= now() then return false end
  return redis.call('HGET', at('memories'), memory)
end

-- A withdrawn turn's counts are subtracted; after a failover they may be missing already, so no sum goes below zero.
local function add(key, field, counts)
  local sums = {}
  for number in (redis.call('HGET', key, field) or ''):gmatch('%d+') do sums[#sums + 1] = number end
  for index, count in ipairs(counts) do sums[index] = int(math.max(0, (sums[index] or 0) + count)) end
  redis.call('HSET', key, field, table.concat(sums, ','))
end

-- Counts usage by the second, and again by the hour. The seconds of an hour are in one hash. A trial, which counts nothing, has no
-- account here.
local function count_usage(account, second, ...)
  if account == '' then return end
  second = tonumber(second)
  local hour = int(second - second % 3600)
  redis.call('SADD', at('usage'), account)
  add(at('usage', account), hour, { ... })
  add(at('usage', account, hour), int(second), { ... })
end

local function remove_session(session)
  local turns = redis.call('SMEMBERS', at('flights', session))
  for _, turn in ipairs(turns) do landed(session, turn) end
  local assistant = redis.call('HGET', at('session', session), 'assistant')
  if assistant then redis.call('ZREM', at('sessions', assistant), session) end
  redis.call('ZREM', at('sessions'), session)
  redis.call('ZREM', at('activity'), session)
  redis.call('ZREM', at('trials'), session)
  redis.call('UNLINK', at('session', session), at('messages', session), at('turns', session), at('flights', session), at('history', 'session', session))
end

-- The ends of the places that are taken, by holder: a holder has one place for all of its seats, whose names are holder/seat.
local function places_of(key, time)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', int(time))
  local seats, ends, count = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES'), {}, 0
  for each = 1, #seats, 2 do
    local holder = seats[each]:match('^[^/]*')
    if not ends[holder] then count = count + 1 end
    ends[holder] = math.max(ends[holder] or 0, tonumber(seats[each + 1]))
  end
  return ends, count
end

local function look_at_place(limit, ceiling, lease, time)
  local ends, count = places_of(limit.key, time)
  limit.ends = math.max(tonumber(redis.call('ZSCORE', limit.key, limit.member) or 0), time + lease)
  if ceiling > 0 and (ends[limit.member:match('^[^/]*')] or count < ceiling) then return true, 0 end
  if ceiling == 0 then return false, -1 end
  local sorted = {}
  for _, last in pairs(ends) do sorted[#sorted + 1] = last end
  table.sort(sorted)
  return false, sorted[count - ceiling + 1] - time
end

local function look_at_rate(limit, ceiling, period, cost, time)
  local first, second = (redis.call('GET', limit.key) or ''):match('^(-?%d+) (%d+)$')
  local passed, wait
  if limit.kind == 'counter' then
    local used, since = tonumber(first or 0), time - time % period
    if second and tonumber(second) >= since then since = tonumber(second) else used = 0 end
    passed, wait = used < ceiling, since + period - time
    limit.stored, limit.ends = int(used + cost) .. ' ' .. int(since), since + period
  else
    local level, since = tonumber(first or ceiling * period), tonumber(second or time)
    level = math.min(ceiling * period, math.max((1 - ceiling) * period, level) + math.max(0, time - since) * ceiling)
    since = math.max(time, since)
    passed, wait = level >= cost * period, -1
    if cost <= ceiling then wait = math.ceil((cost * period - level) / ceiling) end
    level = level - cost * period
    if passed then limit.stored, limit.ends = int(level) .. ' ' .. int(since), since + math.ceil((ceiling * period - level) / ceiling) end
  end
  if ceiling == 0 then wait = -1 end
  return passed, passed and 0 or wait
end

local function keep_seats(key, time)
  local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  if last then redis.call('PEXPIRE', key, int(last - time + STEP_KEPT_MS)) end
end

-- Takes several limits at once, or none of them: the arithmetic of machines/budget.ts, number for number. The arguments of each
-- limit, from `from` on: kind, name, ceiling, period, cost, holder, seat, lease. A key expires once it no longer changes any answer.
-- Returns whether all pass, and for each limit 1 if it passes or 0, and the milliseconds until it may: 0 if it passes, -1 if it
-- never will.
local function take_limits(from)
  local time, taken, answer, all = now(), {}, {}, true
  for each = from, #ARGV, 8 do
    local limit = { kind = ARGV[each], key = at('limit', ARGV[each + 1]), member = ARGV[each + 5] .. '/' .. ARGV[each + 6] }
    local ceiling, passed, wait = tonumber(ARGV[each + 2]), false, -1
    if limit.kind == 'place' then
      passed, wait = look_at_place(limit, ceiling, tonumber(ARGV[each + 7]), time)
    else
      passed, wait = look_at_rate(limit, ceiling, tonumber(ARGV[each + 3]), tonumber(ARGV[each + 4]), time)
    end
    all = all and passed
    taken[#taken + 1] = limit
    answer[#answer + 1] = passed and 1 or 0
    answer[#answer + 1] = wait
  end
  for _, limit in ipairs(all and taken or {}) do
    if limit.kind == 'place' then
      redis.call('ZADD', limit.key, int(limit.ends), limit.member)
      keep_seats(limit.key, time)
    else
      redis.call('SET', limit.key, limit.stored, 'PX', int(limit.ends - time + STEP_KEPT_MS))
    end
  end
  return all, answer
end

local function settle_counter(key, cost, since, period, time)
  local used, newest = (redis.call('GET', key) or '0 0'):match('^(-?%d+) (%d+)$')
  if tonumber(newest) > since or since + period <= time then return end
  if tonumber(newest) < since then used = 0 end
  redis.call('SET', key, int(math.max(0, used + cost)) .. ' ' .. int(since), 'PX', int(since + period - time + STEP_KEPT_MS))
end

-- A bucket without a key is full.
local function settle_bucket(key, ceiling, period, cost, time)
  local level, since = (redis.call('GET', key) or ''):match('^(-?%d+) (%d+)$')
  if not level or ceiling == 0 then return end
  level = math.min(ceiling * period, math.max((1 - ceiling) * period, tonumber(level)) + math.max(0, time - since) * ceiling)
  level, since = math.min(ceiling * period, level - cost * period), math.max(time, tonumber(since))
  local ends = since + math.ceil((ceiling * period - level) / ceiling)
  redis.call('SET', key, int(level) .. ' ' .. int(since), 'PX', int(ends - time + STEP_KEPT_MS))
end

-- Charges what was used already, or gives back. The arguments as of `take_limits`; a counter has where its period began in place
-- of a lease.
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
      local member = ARGV[each + 5] .. '/' .. ARGV[each + 6]
      if number > 0 then redis.call('ZADD', key, int(time + number), member) else redis.call('ZREM', key, member) end
      keep_seats(key, time)
    end
  end
end
