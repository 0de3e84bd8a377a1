-- Stores the audit row of a change, if the sender writes one. The row is under the root of the changed record.
--- @include "at"

local function put_audit(id, audit)
  if audit == '' then return end
  redis.call('HSET', at('audit_entry'), id, audit, id .. '/version', 1)
  redis.call('ZADD', at('audit_entry', 'ids'), 0, id)
end
