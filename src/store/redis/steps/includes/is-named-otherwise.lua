-- Whether another assistant of the workspace has the alias.
--- @include "at"

local function is_named_otherwise(alias, id)
  local owner = redis.call('HGET', at('aliases'), alias)
  return owner and owner ~= id
end
