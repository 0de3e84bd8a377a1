-- Frees the aliases of an assistant, or the names of a credential, but for the one that it keeps.
--- @include "at"

local function unname(id, alias)
  local named = redis.call('HGETALL', at('aliases'))
  for each = 1, #named, 2 do
    if named[each + 1] == id and named[each] ~= alias then redis.call('HDEL', at('aliases'), named[each]) end
  end
end
