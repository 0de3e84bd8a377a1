-- Names the key of the slots of a name, each with the end of its lease. The slots `api` keep the key that they had before slots had names.
--- @include "at"

local function name_slots(name)
  return (not name or name == 'api') and at('slots') or at('slots', name)
end
