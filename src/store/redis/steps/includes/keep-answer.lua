-- Keeps the answer of a write for a repeat after a lost reply. The sender retries for seconds, never for a minute.
--- @include "at"

local function keep_answer(write, answer)
  redis.call('SET', at('write', write), answer, 'PX', STEP_KEPT_MS)
end
