-- Whether another record of the workspace has the alias or name.
--- @include "at"

local function is_named_otherwise(alias, id)
  local owner = redis.call('HGET', at('aliases'), alias)
  return owner and owner ~= id
end
