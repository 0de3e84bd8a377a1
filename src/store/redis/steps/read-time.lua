-- Redis's time, by the clock that all steps use: of the primary of the root's slot, so that all processes read the same clock.
-- KEYS: any root of the workspaces' list.
-- ARGV: none.
-- Answer: milliseconds since the epoch.
--- @include "now"

return now()
