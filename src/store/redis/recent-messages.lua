-- The newest messages before an index, newest first, as far back as the bounds reach; the one that streams is left out.
local session, before, characters_max, messages_max = unpack(ARGV)
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
