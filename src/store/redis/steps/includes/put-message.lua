-- Stores a message at its index: index, code points (-1 while it streams), turn while it streams, length of the record, record, text.
--- @include "at"

local function put_message(session, index, points, turn, record, content)
  local key = at('messages', session)
  redis.call('ZREMRANGEBYSCORE', key, index, index)
  redis.call('ZADD', key, index, index .. ':' .. points .. ':' .. turn .. ':' .. #record .. ':' .. record .. content)
end
