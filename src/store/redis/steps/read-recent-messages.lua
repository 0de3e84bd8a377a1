-- Reads the newest messages before an index, newest first, as far back as the bounds allow; a streaming message is left out.
-- KEYS: the workspace's root.
-- ARGV: session, before, characters_max, messages_max.
-- Answer: the messages in their stored form, the newest first.
--- @include "at"

local found, characters = {}, 0
for offset = 0, math.huge, 32 do
  local members = redis.call('ZREVRANGEBYSCORE', at('messages', session), '(' .. before, '-inf', 'LIMIT', offset, 32)
  for _, member in ipairs(members) do
    local points = tonumber(member:match('^%d+:(-?%d+):'))
    if points >= 0 then
      characters = characters + points
      if characters > tonumber(characters_max) or #found == tonumber(messages_max) then return found end
      found[#found + 1] = member
    end
  end
  if #members < 32 then return found end
end
