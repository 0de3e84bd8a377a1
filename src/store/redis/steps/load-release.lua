-- Stores the release of an assistant that an export has loaded.
-- KEYS: the workspace's root.
-- ARGV: assistant, revision, since, candidate, percent, after, halted, halted_record, head, tail, notice.
-- Answer: 1.
--- @include "put-release"

put_release(assistant, revision, since, candidate, percent, after, halted, halted_record, head, tail, notice)
return 1
