-- Replaces a session if it still has the version and mark that the decision was made on.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, record, active, expires, state, write, move, audit_id, audit, delivery_head, event_at,
--   session_event, ...settled.
-- Answer: the new version; false if another writer has moved the session.
--- @include "at"
--- @include "is-ending"
--- @include "is-unmoved"
--- @include "keep-answer"
--- @include "put-audit"
--- @include "put-deliveries"
--- @include "put-move"
--- @include "put-session"
--- @include "settle-limits"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
local unmoved, awaited = is_unmoved(session, version, mark)
if not unmoved then return false end
local ends_session = is_ending(session, state)
put_session(session, version + 1, record, active, expires, state, awaited)
settle_limits(settled_at)
put_move('session', session, move)
put_audit(audit_id, audit)
if ends_session then put_deliveries('session.' .. state, session_event, session, session, delivery_head, event_at) end
keep_answer(write, version + 1)
return version + 1
