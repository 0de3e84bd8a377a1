-- Reads the memory of a request if it has not expired.
-- KEYS: the workspace's root.
-- ARGV: memory.
-- Answer: its record; false without a memory.
--- @include "recall"

return recall(memory)
