-- Counts an assistant's speech and transcription, for its account.
-- KEYS: the workspace's root.
-- ARGV: write, account, counted_at, speech, seconds.
-- Answer: 1, also for a repeat of this step.
--- @include "at"
--- @include "count-usage"
--- @include "keep-answer"

if redis.call('EXISTS', at('write', write)) == 1 then return 1 end
keep_answer(write, '1')
count_usage(account, counted_at, 0, 0, 0, 0, 0, speech, seconds)
return 1
