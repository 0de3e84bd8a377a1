-- Loads a message from an export. A streaming message names its turn and contains that turn's output.
-- KEYS: the workspace's root.
-- ARGV: session, index, record, content, points, turn.
-- Answer: 1.
--- @include "at"
--- @include "put-message"

if turn == '' then
  put_message(session, index, points, '', record, content)
  return 1
end
put_message(session, index, -1, turn, record, '')
redis.call('HSET', at('flight', session, turn), 'position', points)
if content ~= '' then redis.call('SET', at('output', session, turn), content) end
return 1
