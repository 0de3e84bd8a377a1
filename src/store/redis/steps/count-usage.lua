-- Counts what an assistant has spoken and heard, for its account.
-- KEYS: the workspace's root.
-- ARGV: write, account, counted_at, speech, seconds.
-- Answer: 1, also for a repeat of this step.
if redis.call('EXISTS', at('write', write)) == 1 then return 1 end
once(write, '1')
count_usage(account, counted_at, 0, 0, 0, 0, 0, speech, seconds)
return 1
