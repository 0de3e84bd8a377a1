-- Names a key: all keys of a step begin with its root, and are in its slot.
local function at(...)
  return root .. ':' .. table.concat({ ... }, ':')
end
