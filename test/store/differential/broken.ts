/** Stores with one fault each, which random lives must distinguish from a correct store. */
import type { Scripts } from '../../../src/store/redis/scripts.ts';
import type { ScriptName } from '../../../src/store/redis/steps.ts';
import type { Fence } from '../../../src/store/store.ts';
import { editedScripts, tellingTheTime } from '../redis-stores.ts';
import type { Changed } from './contenders.ts';

/**
 * A place in a script (in each script that has it, where the name is null), which must be there, and what stands there
 * instead.
 */
type Break = readonly [script: ScriptName | null, sound: string, broken: string];

export const brokenScripts: Readonly<Record<string, Break>> = {
  'a fence that is the epoch alone': [null, 'fence[1] == epoch and fence[2] == owner', 'fence[1] == epoch'],
  'a lapsed slot that still counts': [
    null,
    "redis.call('ZCOUNT', slots, '(' .. int(time), int(time + LEASE_MS_MAX)) >=",
    "redis.call('ZCARD', slots) >=",
  ],
  'usage counted in the hour after': [
    null,
    'local hour = int(second - second % 3600)',
    'local hour = int(second - second % 3600 + 3600)',
  ],
  'a memory that outlasts its time': [null, 'if not ends or tonumber(ends) <= now() then', 'if not ends then'],
  'an append that renews no lease': ['append-output', "lease ~= ''", "lease == 'never'"],
  'a piece sent again that is stored again': [
    'append-output',
    'skip_points(text, tonumber(count), stored - position)',
    'text, tonumber(count)',
  ],
  'a session of a run that is gone': ['create-session', "if run ~= '' and not", "if run == 'x' and not"],
  'a test of a session that is gone': ['create-record', 'not is_there(ARGV[each], ARGV[each + 1])', 'false'],
  'a run that is removed at any version': ['remove-record', "if version ~= '' and", "if version == 'x' and"],
  'a turn begun on any move': ['begin-turn', 'if not unmoved', 'if false'],
  'a session on versions that have changed': ['create-session', 'if is_outdated(assistant, revision)', 'if false'],
  'a turn on versions that have changed': ['begin-turn', 'if is_outdated(assistant, revision)', 'if false'],
  'a halt with one failed turn more than the rule says': [null, 'all_failed * 100 <=', '(all_failed - 1) * 100 <='],
  'a halt without its entry in the history': [null, 'head .. packed_time .. tail', "''"],
  'a withdrawn turn that counts for no rollout': [
    'withdraw-turn',
    '0, 0, 1, 1, packed_time',
    '0, 0, 0, 0, packed_time',
  ],
  'a finish that forgets what it answered': ['finish-turn', 'if earlier then', 'if false then'],
  'a cut beyond the text that is taken for its end': [
    'finish-turn',
    "if tonumber(cut) > ends then return { 'hole', ends } end",
    'if tonumber(cut) > ends then cut = ends end',
  ],
  'a cut that takes bytes for code points': ['finish-turn', 'drop_points(content, ends - cut)', 'content:sub(1, cut)'],
  'a withdrawn turn whose event stays': ['withdraw-turn', 'drop_deliveries(session, turn)', ''],
  'an end of a turn without its event': ['finish-turn', 'turn_event, session, turn,', "'', session, turn,"],
  'a failed turn that is not counted as one': ['finish-turn', 'ended, 0, 1, failed,', 'ended, 0, 1, 0,'],
  'a withdrawal that leaves its memory': ['withdraw-turn', 'then forget(memory) end', 'then end'],
  'a second stop in place of the first': ['request-stop', 'if not stands[2] then', 'if true then'],
  'a turn seized at the last millisecond of its lease': [
    'take-over-turn',
    'if tonumber(stands[3]) > (',
    'if tonumber(stands[3]) > 1000 + (',
  ],
  'a refused request that costs nothing': ['take-budgets', 'if not refused or index == refused', 'if not refused'],
  'limits that are taken beside one that refuses': ['take-limits', 'ipairs(all and taken or {})', 'ipairs(taken)'],
  'a quota that its last cost may exceed': [null, 'passed = used + cost <= ceiling', 'passed = used < ceiling'],
  'a place that is kept beyond its lease': [
    'take-limits',
    "redis.call('ZREMRANGEBYSCORE', limit.key, '-inf', int(time))",
    '',
  ],
  'a place for each seat': [
    'take-limits',
    'ARGV[each + 1], ARGV[each + 5], ARGV[each + 6]',
    "ARGV[each + 1], ARGV[each + 5] .. ARGV[each + 6], ''",
  ],
  'limits that a turn takes beside one that refuses it': [
    'begin-turn',
    "if not all then return { 'limited', unpack(answers) } end",
    '',
  ],
  'a session that takes limits beside one that refuses': [
    'charge-session',
    "if not all then return { 'limited', unpack(answers) } end",
    '',
  ],
  'a turn that settles no limits': ['finish-turn', 'settle_limits(settled_at)\n', '\n'],
  'a withdrawn turn that gives nothing back': ['withdraw-turn', 'settle_limits(settled_at)\n', '\n'],
  'a turn begun without its row in the audit': ['begin-turn', 'put_audit(audit_id, audit)', ''],
  'a row in the audit of a record that exists': [
    'create-record',
    "if redis.call('HEXISTS', at(kind), id) == 1 then return 0 end",
    "put_audit(audit_id, audit)\nif redis.call('HEXISTS', at(kind), id) == 1 then return 0 end",
  ],
  'a withdrawal that leaves no history': ['withdraw-turn', "put_move('session', session, move)", ''],
  'a history with the message that is being written': ['read-recent-messages', 'if points >= 0 then', 'if true then'],
};

/** The scripts with this break, told the time by the tests. */
export const scriptsWith = ([script, sound, broken]: Break): Scripts =>
  editedScripts(script, [[sound, broken]], tellingTheTime);

/** Verbs of an embedded store in a wrong way. */
export const brokenVerbs: Readonly<Record<string, Changed>> = {
  'an append that answers before it looks at the fence': (store) => ({
    appendOutput: (step) => store.turns.append(step).then((answer) => (answer === 'fenced' ? 'stored' : answer)),
  }),
  'a lease prolonged for whoever asks': (store) => ({
    renewTurn: async (place, fence, leaseUntilMs, nowMs) => {
      const owner: Fence = { epoch: fence.epoch, owner: fence.owner === 'nobody' ? 'n5' : fence.owner };
      const answer = await store.turns.renew(place, owner, leaseUntilMs, nowMs);
      return answer === 'fenced' ? 'renewed' : answer;
    },
  }),
  'a slot more than there are': (store) => ({
    beginTurn: (step) =>
      store.turns.begin({ ...step, slot: step.slot && { ...step.slot, ceiling: step.slot.ceiling + 1 } }),
  }),
  'a save that goes by the version alone': (store) => ({
    saveSession: (session, { version }) => store.sessions.save(session, { version, mark: undefined }),
  }),
  'a lease that is a millisecond longer': (store) => ({
    beginTurn: (step) => store.turns.begin({ ...step, leaseUntilMs: step.leaseUntilMs + 1 }),
  }),
  'a transcript without its newest message': (store) => ({
    recentMessages: (workspaceId, sessionId, before, ...bounds) =>
      store.sessions.recentMessages(workspaceId, sessionId, before - 1, ...bounds),
  }),
  'calls without what a provider put on them': (store) => ({
    stepTurn: (step) => store.turns.step({ ...step, calls: step.calls.map(({ opaque: _, ...call }) => call) }),
  }),
  'an output read from one code point before': (store) => ({
    outputAfter: (place, position) => store.turns.outputAfter(place, Math.max(0, position - 1)),
  }),
};
