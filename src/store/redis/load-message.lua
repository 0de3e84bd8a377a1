-- A message as another store had it. One that streams names its turn, whose output it carries.
local session, index, record, content, points, turn = unpack(ARGV)
if turn == '' then
  put_message(session, index, points, '', record, content)
  return 1
end
put_message(session, index, -1, turn, record, '')
redis.call('HSET', at('flight', session, turn), 'position', points)
if content ~= '' then redis.call('SET', at('output', session, turn), content) end
return 1
