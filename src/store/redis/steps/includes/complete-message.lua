-- Completes a stored message that streams with the output stored so far.
--- @include "at"

local function complete_message(session, member)
  local points, turn = member:match('^%d+:(-?%d+):([^:]*):')
  if points ~= '-1' then return member end
  return member .. (redis.call('GET', at('output', session, turn)) or '')
end
