-- Reads a lane: whether it has reached a number or passed it; if so, also when, and the answer then.
local function read_lane(stood, number)
  local newest, time, answer = (stood or ''):match('^(%d+) (%d+) ?(.*)$')
  if newest and tonumber(newest) >= tonumber(number) then return true, time, answer end
end
