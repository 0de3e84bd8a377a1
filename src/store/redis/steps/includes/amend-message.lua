-- Puts an earlier message, given in its stored form, in the place of what it was; none if it is empty.
--- @include "at"

local function amend_message(session, amends)
  if amends == '' then return end
  local key, index = at('messages', session), amends:match('^%d+')
  redis.call('ZREMRANGEBYSCORE', key, index, index)
  redis.call('ZADD', key, index, amends)
end
