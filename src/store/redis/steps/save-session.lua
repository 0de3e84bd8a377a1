-- Replaces a session if it still has the version and mark that the decision was made on.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, record, active, expires, state, write, move, audit_id, audit, ...settled.
-- Answer: the new version; false if another writer has moved the session.
--- @include "at"
--- @include "is-unmoved"
--- @include "keep-answer"
--- @include "put-audit"
--- @include "put-move"
--- @include "put-session"
--- @include "settle-limits"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if not is_unmoved(session, version, mark) then return false end
put_session(session, version + 1, record, active, expires, state)
settle_limits(settled_at)
put_move('session', session, move)
put_audit(audit_id, audit)
keep_answer(write, version + 1)
return version + 1
