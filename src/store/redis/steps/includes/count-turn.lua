-- Counts a turn for its version, and for the candidate if that is its version. Halts the rollout if its rule says so: the assistant's record
-- becomes the one that was stored for that, and its history gets an entry with the packed time. A trial has no version here.
--- @include "add-counts"
--- @include "announce"
--- @include "at"
--- @include "put-move"

local function count_turn(assistant, number, counted, failed, rolled, rolled_failed, packed_time, channel)
  if number == '' then return end
  local key = at('release', assistant)
  if counted ~= 0 then add_counts(key, 'counts/' .. number, { 0, counted, failed }) end
  local candidate, percent, after, halted = unpack(redis.call('HMGET', key, 'candidate', 'percent', 'after', 'halted'))
  if candidate ~= number then return end
  local turns = redis.call('HINCRBY', key, 'turns', rolled)
  local all_failed = redis.call('HINCRBY', key, 'failed', rolled_failed)
  if percent == '' or halted == '1' or turns < tonumber(after) or all_failed * 100 <= tonumber(percent) * turns then return end
  local record, head, tail, notice = unpack(redis.call('HMGET', key, 'record', 'head', 'tail', 'notice'))
  redis.call('HSET', key, 'halted', '1')
  redis.call('HINCRBY', key, 'revision', 1)
  redis.call('HSET', at('assistant'), assistant, record)
  redis.call('HINCRBY', at('assistant'), assistant .. '/version', 1)
  put_move('assistant', assistant, head .. packed_time .. tail)
  announce(channel, notice)
end
