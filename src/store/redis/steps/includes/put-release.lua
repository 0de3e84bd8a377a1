-- Stores the release of an assistant beside its record: what the steps of sessions and turns compare, and what a halt leaves. The turns of a
-- candidate are counted from zero if its rollout began with another revision.
--- @include "at"

local function put_release(id, revision, since, ...)
  if revision == '' then return end
  local key, fields = at('release', id), { ... }
  if redis.call('HGET', key, 'since') ~= since then redis.call('HSET', key, 'since', since, 'turns', 0, 'failed', 0) end
  redis.call('HSET', key, 'revision', revision, 'candidate', fields[1], 'percent', fields[2], 'after', fields[3], 'halted', fields[4])
  redis.call('HSET', key, 'record', fields[5], 'head', fields[6], 'tail', fields[7], 'notice', fields[8])
end
