-- The code that all steps share. KEYS[1] is the root of a workspace's keys: all of them are built from it and are in its slot.
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

