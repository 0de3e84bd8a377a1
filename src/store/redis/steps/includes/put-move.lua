-- Adds a step to an actor's history, if the sender keeps one; drops the oldest beyond the bound.
--- @include "at"

local function put_move(kind, id, move)
  if move == '' then return end
  local key = at('history', kind, id)
  if redis.call('RPUSH', key, move) > MOVES_KEPT then redis.call('LTRIM', key, -MOVES_KEPT, -1) end
end
