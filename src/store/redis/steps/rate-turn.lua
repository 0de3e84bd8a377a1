-- Stores the feedback on a finished turn, or removes it, counts the difference in the turn's usage, and keeps the turn from being
-- withdrawn.
-- KEYS: the workspace's root.
-- ARGV: session, turn, rating, feedback, account, ended, assistant, number.
-- Answer: 1, or 0 if the turn does not exist or is not finished.
--- @include "add-counts"
--- @include "at"
--- @include "count-usage"

local turns = at('turns', session)
if redis.call('HEXISTS', turns, turn .. '/finished') == 0 then return 0 end
redis.call('HSET', turns, turn .. '/claimed', '1')
local before = (redis.call('HGET', turns, turn .. '/feedback') or ''):match('^%a*')
if rating == '' then
  redis.call('HDEL', turns, turn .. '/feedback')
else
  redis.call('HSET', turns, turn .. '/feedback', rating .. ' ' .. feedback)
end
if rating == before then return 1 end
local function change(name) return (rating == name and 1 or 0) - (before == name and 1 or 0) end
count_usage(account, ended, 0, 0, 0, 0, 0, 0, 0, 0, 0, change('up'), change('down'))
if number ~= '' then add_counts(at('release', assistant), 'counts/' .. number, { 0, 0, 0, change('up'), change('down') }) end
return 1
