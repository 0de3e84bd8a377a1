-- Skips the first `skip` code points of a piece. Returns the rest, and the number of code points in it.
local function skip_points(text, count, skip)
  if skip <= 0 then return text, count end
  if skip >= count then return '', 0 end
  local byte = 1
  for _ = 1, skip do
    byte = text:find('[%z\1-\127\192-\255]', byte + 1)
  end
  return text:sub(byte), count - skip
end
