-- Claims a slug for an assistant before its record is written. An assistant's own claim is renewed; another assistant's claim is
-- replaced only if its token equals `stale`.
-- KEYS: the slug's root.
-- ARGV: workspace_id, id, token, stale.
-- Answer: false if the slug is claimed now; else the existing claim: workspace, id, token, its age in milliseconds.
--- @include "at"
--- @include "int"
--- @include "now"

local key, time = at('assistant'), now()
local claim = redis.call('HMGET', key, 'workspace', 'id', 'token', 'at')
if claim[2] and claim[2] ~= id and claim[3] ~= stale then return { claim[1], claim[2], claim[3], int(time - claim[4]) } end
redis.call('HSET', key, 'workspace', workspace_id, 'id', id, 'token', token, 'at', int(time))
return false
