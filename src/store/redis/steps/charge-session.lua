-- Takes limits and replaces a session, or does neither.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, record, active, expires, state, write, ...asked.
-- Answer: {'charged', version}; {'lost'} if another writer has moved the session; {'limited', ...} with the answers of `take_limits`
--   if one of the limits refuses.
--- @include "at"
--- @include "is-unmoved"
--- @include "keep-answer"
--- @include "put-session"
--- @include "take-limits"

local earlier = redis.call('GET', at('write', write))
if earlier then return { 'charged', tonumber(earlier) } end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return { 'lost' } end
local all, answers = take_limits(asked_at)
if not all then return { 'limited', unpack(answers) } end
put_session(session, version + 1, record, active, expires, state, awaited)
keep_answer(write, version + 1)
return { 'charged', version + 1 }
