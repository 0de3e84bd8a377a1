-- A turn undone: its messages, its slot and the memory of its request go.
local session, turn, version, mark, epoch, owner, record, active, expires, state, index = unpack(ARGV)
local withdrawn = redis.call('HGET', at('session', session), 'withdrawn')
if withdrawn then
  local earlier, fence, moved = withdrawn:match('^(%S+) (%d+ %S+) (%d+)$')
  if earlier == turn then
    if fence ~= epoch .. ' ' .. owner then return { 'fenced' } end
    return { 'finished', tonumber(moved) }
  end
end
local flight = at('flight', session, turn)
if not held(flight, epoch, owner) then return { 'fenced' } end
if not unmoved(session, version, mark) then return { 'lost' } end

put_session(session, version + 1, record, active, expires, state)
redis.call('HSET', at('session', session), 'withdrawn', turn .. ' ' .. epoch .. ' ' .. owner .. ' ' .. (version + 1))
redis.call('ZREMRANGEBYSCORE', at('messages', session), index - 1, index)
redis.call('HDEL', at('turns', session), turn, turn .. '/index', turn .. '/begun')
local memory = redis.call('HGET', flight, 'memory')
if memory and redis.call('HGET', at('memories'), memory .. '/result') == ARGV[12] then forget(memory) end
landed(session, turn)
return { 'finished', version + 1 }
