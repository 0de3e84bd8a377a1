-- What the steps share. KEYS[1] is the root of a workspace's keys: all of them lie in its slot, and are built from it.
local root = KEYS[1]

local function at(...)
  return root .. ':' .. table.concat({ ... }, ':')
end

-- Milliseconds since the epoch, as Redis has them: no process's own clock decides anything.
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- All digits of a whole number: Lua's own way of writing one stops at fourteen.
local function int(number)
  return string.format('%.0f', number)
end

local function announce(text)
  redis.call('PUBLISH', root:match('^([^{]*)') .. 'notices', text)
end

local function publish(notice)
  announce(cjson.encode(notice))
end

-- The answer of a write that a lost reply may bring here again. Its sender waits seconds, never a minute.
local function once(write, answer)
  redis.call('SET', at('write', write), answer, 'EX', 60)
end

-- Of a lane that has come to a number or beyond: that it has, when, and what it was answered.
local function passed_by(stood, number)
  local newest, time, answer = (stood or ''):match('^(%d+) (%d+) ?(.*)$')
  if newest and tonumber(newest) >= tonumber(number) then return true, time, answer end
end

-- From the deepest debt a bucket is full after two minutes, and a bucket that is full need not be kept. Lanes of senders that
-- have ended, or had more under way than they have now, go when the time happens to say so: now and then is enough. A
-- sender waits seconds for an answer, never a minute.
local function keep_budget(key, time)
  redis.call('PEXPIRE', key, 120000)
  if time % 256 ~= 0 then return end
  local stored = redis.call('HGETALL', key)
  for each = 1, #stored, 2 do
    local newest = stored[each]:find('/', 1, true) and stored[each + 1]:match('^%d+ (%d+)')
    if newest and tonumber(newest) < time - 60000 then redis.call('HDEL', key, stored[each]) end
  end
end

-- Whether the fence is the flight's own. Both parts must match: after a failover an epoch alone can repeat.
local function held(flight, epoch, owner)
  local fence = redis.call('HMGET', flight, 'epoch', 'owner')
  return fence[1] == epoch and fence[2] == owner
end

local function full(slotsMax, time)
  return redis.call('ZCOUNT', at('slots'), '(' .. int(time), '+inf') >= tonumber(slotsMax)
end

-- Prolongs a lease and its slot. A slot that has lapsed meanwhile is taken again only if it is still free.
local function renewed(flight, member, lease)
  local time = now()
  local slotsMax = redis.call('HGET', flight, 'slotsMax')
  if slotsMax then
    local slot = redis.call('ZSCORE', at('slots'), member)
    if (not slot or tonumber(slot) <= time) and full(slotsMax, time) then return false end
    redis.call('ZADD', at('slots'), int(time + lease), member)
  end
  redis.call('HSET', flight, 'lease', int(time + lease))
  redis.call('ZADD', at('leases'), int(time + lease), member)
  return true
end

-- Removes all of a turn in flight but what became of it.
local function landed(session, turn)
  local member, awaited = session .. '/' .. turn, redis.call('HGET', at('flight', session, turn), 'awaited')
  if awaited then announce(awaited) end
  redis.call('ZREM', at('slots'), member)
  redis.call('ZREM', at('leases'), member)
  redis.call('SREM', at('flights', session), turn)
  redis.call('DEL', at('flight', session, turn), at('output', session, turn))
end

-- What of a piece lies beyond its first code points, and how many those are that are left.
local function unstored(text, count, skip)
  if skip <= 0 then return text, count end
  if skip >= count then return '', 0 end
  local byte = 1
  for _ = 1, skip do
    byte = text:find('[%z\1-\127\192-\255]', byte + 1)
  end
  return text:sub(byte), count - skip
end

-- A message in its place: its index, its code points (-1 while it streams), its turn while it streams, its record, its text.
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

-- Whether the session is still where a decision found it: its version, and its mark as the record holds it (empty where it had
-- none). Both parts must match: after a failover a version alone can repeat.
local function unmoved(session, version, mark)
  local stored = redis.call('HMGET', at('session', session), 'version', 'record')
  return stored[1] == version and stored[2]:find(mark, 1, true) ~= nil
end

-- A session as it will be. Beside the record stand the fields that lists and sweeps look at.
local function put_session(session, version, record, active, expires, state)
  redis.call('HSET', at('session', session), 'version', version, 'record', record, 'active', active, 'expires', expires, 'state', state)
  redis.call('ZADD', at('activity'), active, session)
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

local function add(key, field, counts)
  local sums = {}
  for number in (redis.call('HGET', key, field) or ''):gmatch('%d+') do sums[#sums + 1] = number end
  for index, count in ipairs(counts) do sums[index] = int((sums[index] or 0) + count) end
  redis.call('HSET', key, field, table.concat(sums, ','))
end

-- Counts per second, and once more per hour. The seconds of an hour lie together.
local function count_usage(assistant, second, ...)
  second = tonumber(second)
  local hour = int(second - second % 3600)
  redis.call('SADD', at('usage'), assistant)
  add(at('usage', assistant), hour, { ... })
  add(at('usage', assistant, hour), int(second), { ... })
end

local function remove_session(session)
  local turns = redis.call('SMEMBERS', at('flights', session))
  for _, turn in ipairs(turns) do landed(session, turn) end
  local assistant = redis.call('HGET', at('session', session), 'assistant')
  if assistant then redis.call('ZREM', at('sessions', assistant), session) end
  redis.call('ZREM', at('sessions'), session)
  redis.call('ZREM', at('activity'), session)
  redis.call('UNLINK', at('session', session), at('messages', session), at('turns', session), at('flights', session))
end

