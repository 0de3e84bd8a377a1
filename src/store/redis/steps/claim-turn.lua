-- Keeps a finished turn from being withdrawn.
-- KEYS: the workspace's root.
-- ARGV: session, turn.
-- Answer: 1, or 0 if the turn does not exist or is not finished.
--- @include "at"

local turns = at('turns', session)
if redis.call('HEXISTS', turns, turn .. '/finished') == 0 then return 0 end
redis.call('HSET', turns, turn .. '/claimed', '1')
return 1
