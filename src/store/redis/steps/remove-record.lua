-- Removes a catalog record, one of that version if there is any given, and publishes that. A repeat gets the same answer.
-- KEYS: the root of the kind.
-- ARGV: kind, id, channel, workspace_id, record_id, version, write, audit_id, audit.
-- Answer: the record as it was; false if it was missing, or has another version.
--- @include "at"
--- @include "keep-answer"
--- @include "publish"
--- @include "put-audit"
--- @include "unlink-deliveries"
--- @include "unname"

local earlier = redis.call('GET', at('write', write))
if earlier then return earlier end
local record = redis.call('HGET', at(kind), id)
if not record then return false end
if version ~= '' and redis.call('HGET', at(kind), id .. '/version') ~= version then return false end
redis.call('HDEL', at(kind), id, id .. '/version')
redis.call('ZREM', at(kind, 'ids'), id)
redis.call('UNLINK', at('history', kind, id))
if kind == 'assistant' or kind == 'credential' then unname(id, '') end
if kind == 'assistant' then
  redis.call('UNLINK', at('release', id))
  -- The ids of what belongs to it begin with its own and an underscore, which the backtick follows.
  for _, each in ipairs({ 'assistant_version', 'assistant_test', 'test_run', 'test_result' }) do
    for _, own in ipairs(redis.call('ZRANGEBYLEX', at(each, 'ids'), '[' .. id .. '_', '(' .. id .. '`')) do
      redis.call('HDEL', at(each), own, own .. '/version')
      redis.call('ZREM', at(each, 'ids'), own)
    end
  end
end
if kind == 'webhook' then unlink_deliveries(id) end
if kind == 'key' then
  redis.call('DEL', at('budget', id))
  redis.call('HDEL', at('used'), id)
end
-- A workspace's record is apart from its contents: the removal's mark stays until those are removed too.
if kind == 'workspace' then redis.call('SADD', at('removals'), record_id) end
put_audit(audit_id, audit)
keep_answer(write, record)
publish(channel, { type = 'changed', kind = kind, workspaceId = workspace_id, id = record_id })
return record
