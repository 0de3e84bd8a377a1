-- Replaces a catalog record if it still has the version that the decision was made on, and neither an assistant's alias nor a credential's name is another's. One that is kept hinders no save.
-- The version that an assistant's change makes is stored with it, and those that it drops are removed, each given by its id and its number.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, channel, workspace_id, record_id, version, write, alias, kept, move, wants, audit_id, audit, made_id, made, revision, since,
--   candidate, percent, after, halted, halted_record, head, tail, notice, ...dropped.
-- Answer: the new version; false if another writer has replaced or removed it; -1 if the alias is taken.
--- @include "at"
--- @include "is-named-otherwise"
--- @include "keep-answer"
--- @include "publish"
--- @include "put-audit"
--- @include "put-move"
--- @include "put-release"
--- @include "put-wants"
--- @include "unname"

local earlier = redis.call('GET', at('write', write))
if earlier then return tonumber(earlier) end
if redis.call('HGET', at(kind), id .. '/version') ~= version then return false end
local otherwise = alias ~= '' and is_named_otherwise(alias, id)
if otherwise and kept == '' then return -1 end
if kind == 'assistant' or kind == 'credential' then unname(id, alias) end
if alias ~= '' and not otherwise then redis.call('HSET', at('aliases'), alias, id) end
redis.call('HSET', at(kind), id, record, id .. '/version', version + 1)
put_move(kind, id, move)
put_wants(kind, id, wants)
put_audit(audit_id, audit)
put_release(id, revision, since, candidate, percent, after, halted, halted_record, head, tail, notice)
if made_id ~= '' then
  redis.call('HSET', at('assistant_version'), made_id, made, made_id .. '/version', 1)
  redis.call('ZADD', at('assistant_version', 'ids'), 0, made_id)
end
for each = dropped_at, #ARGV, 2 do
  redis.call('HDEL', at('assistant_version'), ARGV[each], ARGV[each] .. '/version')
  redis.call('ZREM', at('assistant_version', 'ids'), ARGV[each])
  redis.call('HDEL', at('release', id), 'counts/' .. ARGV[each + 1])
end
keep_answer(write, version + 1)
publish(channel, { type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return version + 1
