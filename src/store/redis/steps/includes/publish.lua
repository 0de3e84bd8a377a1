-- Publishes a notice on the channel of an installation.
--- @include "announce"

local function publish(channel, notice)
  announce(channel, cjson.encode(notice))
end
