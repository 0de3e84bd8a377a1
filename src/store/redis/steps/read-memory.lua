-- Reads the memory of a request if it has not expired.
-- KEYS: the workspace's root.
-- ARGV: memory.
-- Answer: its record; false if there is none.
--- @include "recall"

return recall(memory)
