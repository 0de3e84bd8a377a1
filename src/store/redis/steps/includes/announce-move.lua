-- Publishes the notice that a follower of a session waits for: its channel is the first line.
--- @include "announce"

local function announce_move(awaited)
  announce(awaited:match('^([^\n]*)\n(.*)$'))
end
