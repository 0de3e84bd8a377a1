-- A catalog record, created unless it exists, or unless another record of the workspace has its alias or name.
-- KEYS: the root of the kind.
-- ARGV: kind, id, record, channel, workspace_id, record_id, alias, most, begin, move, wants, audit_id, audit, ...needed.
-- `needed` has the kind and the id of each row without which the record is refused.
-- Answer: 1 if it was created, 0 if it existed, -1 if the alias is taken, -2 if `most` records of the kind exist whose ids begin with `begin`, an underscore at its end, -3 if a needed row is gone.
--- @include "at"
--- @include "is-named-otherwise"
--- @include "is-there"
--- @include "publish"
--- @include "put-audit"
--- @include "put-move"
--- @include "put-wants"

if redis.call('HEXISTS', at(kind), id) == 1 then return 0 end
local from, to = '-', '+'
-- A backtick follows the underscore.
if begin ~= '' then from, to = '[' .. begin, '(' .. begin:sub(1, -2) .. '`' end
if most ~= '' and redis.call('ZLEXCOUNT', at(kind, 'ids'), from, to) >= tonumber(most) then return -2 end
for each = needed_at, #ARGV, 2 do
  if not is_there(ARGV[each], ARGV[each + 1]) then return -3 end
end
if alias ~= '' then
  if is_named_otherwise(alias, id) then return -1 end
  redis.call('HSET', at('aliases'), alias, id)
end
redis.call('HSET', at(kind), id, record)
redis.call('HSET', at(kind), id .. '/version', 1)
redis.call('ZADD', at(kind, 'ids'), 0, id)
put_move(kind, id, move)
put_wants(kind, id, wants)
put_audit(audit_id, audit)
publish(channel, { type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return 1
