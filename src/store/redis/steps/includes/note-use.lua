-- Notes the minute in which a key was used last, apart from its budgets, which are kept for two minutes only. Within a minute the
-- first request alone writes it. A minute that is hours ahead is one of a clock that was set back.
--- @include "at"

local function note_use(key, id, time, noted)
  local minute = math.floor(time / 60000) * 60
  if noted and tonumber(noted) >= minute and tonumber(noted) < minute + 3600 then return end
  redis.call('HSET', key, 'used', minute)
  redis.call('HSET', at('used'), id, minute)
end
