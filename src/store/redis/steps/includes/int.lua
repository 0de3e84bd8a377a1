-- Writes all digits of a whole number: Lua's own conversion writes only fourteen.
local function int(number)
  return string.format('%.0f', number)
end
