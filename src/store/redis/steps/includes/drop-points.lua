-- Drops the last `count` code points of a text: every byte of a code point but its first is between 128 and 191.
local function drop_points(text, count)
  local byte = #text
  for _ = 1, count do
    while text:find('^[\128-\191]', byte) do byte = byte - 1 end
    byte = byte - 1
  end
  return text:sub(1, byte)
end
