-- Memories whose time is over, forgotten.
local over = redis.call('ZRANGEBYSCORE', at('memory-ends'), '-inf', int(now()), 'LIMIT', 0, ARGV[1])
for _, memory in ipairs(over) do forget(memory) end
return #over
