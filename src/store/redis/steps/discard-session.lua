-- Removes a session that has had no turn, with the memory that names it, and no longer counts it. A session that is gone already is removed.
-- KEYS: the workspace's root.
-- ARGV: session, version, mark, account, created, memory, result, assistant, number.
-- Answer: 1 if it is removed; 0 if it has moved or has a turn in flight.
--- @include "add-counts"
--- @include "at"
--- @include "count-usage"
--- @include "forget"
--- @include "is-unmoved"
--- @include "remove-session"

if redis.call('EXISTS', at('session', session)) == 0 then return 1 end
if not is_unmoved(session, version, mark) or redis.call('SCARD', at('flights', session)) > 0 then return 0 end
if memory ~= '' and redis.call('HGET', at('memories'), memory .. '/result') == result then forget(memory) end
remove_session(session)
if number ~= '' then add_counts(at('release', assistant), 'counts/' .. number, { -1 }) end
count_usage(account, created, -1, 0, 0, 0, 0, 0, 0)
return 1
