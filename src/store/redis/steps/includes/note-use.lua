-- Notes the minute in which a key was used last, apart from its budgets, which are kept for two minutes only. Within a minute the
-- first request alone writes it.
--- @include "at"

local function note_use(key, id, time, noted)
  local minute = math.floor(time / 60000) * 60
  if noted and tonumber(noted) >= minute then return end
  redis.call('HSET', key, 'used', minute)
  redis.call('HSET', at('used'), id, minute)
end
