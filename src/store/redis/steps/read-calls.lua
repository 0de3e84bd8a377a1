-- Reads the calls of a turn in flight.
-- KEYS: the workspace's root.
-- ARGV: session, turn.
-- Answer: the calls; none for another turn.
--- @include "at"
--- @include "read-calls"

return read_calls(at('flight', session, turn))
