-- Frees an assistant's slug, unless it was claimed again since the token was read; without a token in any case.
-- KEYS: the slug's root.
-- ARGV: id, token.
-- Answer: 1 if it is free now, else 0.
--- @include "at"

local claim = redis.call('HMGET', at('assistant'), 'id', 'token')
if claim[1] ~= id or (token ~= '' and claim[2] ~= token) then return 0 end
redis.call('DEL', at('assistant'))
return 1
