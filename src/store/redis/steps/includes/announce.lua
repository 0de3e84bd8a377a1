-- Publishes a text on the channel of an installation. A reader of the version before, whose channel was every installation's, named none.
local function announce(channel, text)
  if channel then redis.call('PUBLISH', channel, text) end
end
