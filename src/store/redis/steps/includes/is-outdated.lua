-- Whether the versions that people get have changed since the step was decided; an empty revision is of a trial.
--- @include "at"

local function is_outdated(assistant, revision)
  return revision ~= '' and (redis.call('HGET', at('release', assistant), 'revision') or '0') ~= revision
end
