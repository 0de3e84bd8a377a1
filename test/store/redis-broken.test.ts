/**
 * The contract suite must reject steps that are broken: each of these is the Redis store with one script gone wrong.
 */
import t from 'tap';
import type { ScriptName } from '../../src/store/redis/steps.ts';
import { verdict } from './contract.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';
import { editedScripts, storesOn } from './redis-stores.ts';
import { rejected } from './rejected.ts';

/**
 * Places in a script (in each script that has them, where its name is null), which must be there, and what stands there
 * instead.
 */
interface Break {
  readonly of: ScriptName | null;
  readonly put: readonly (readonly [sound: string, broken: string])[];
}

const broken: Readonly<Record<string, Break>> = {
  'a write without the check of its owner': {
    of: null,
    put: [['return fence[1] == epoch and fence[2] == owner', 'return fence[1] ~= false']],
  },
  'a fence that is the epoch alone': {
    of: null,
    put: [['fence[1] == epoch and fence[2] == owner', 'fence[1] == epoch']],
  },
  'a slot that is a counter': {
    of: null,
    put: [["redis.call('ZCOUNT', slots, '(' .. int(time), int(time + LEASE_MS_MAX))", "redis.call('ZCARD', slots)"]],
  },
  'a slot that is kept when its turn ends': {
    of: null,
    put: [["  redis.call('ZREM', name_slots(stood[2]), member)\n", '']],
  },
  'one number of slots whatever their name': {
    of: null,
    put: [["and at('slots') or at('slots', name)", "and at('slots') or at('slots')"]],
  },
  'an erasure that leaves a turn in flight': {
    of: 'erase-session',
    put: [['for _, turn in ipairs(turns) do remove_flight(session, turn) end', '']],
  },
  'an erased session that keeps its history': {
    of: 'erase-session',
    put: [[", at('history', 'session', session),", ',']],
  },
  'an erasure that counts a repeat': {
    of: 'erase-session',
    put: [["redis.call('EXISTS', at('session', session)) == 1", 'true']],
  },
  'a test of an erased session': { of: 'create-record', put: [['not is_there(ARGV[each], ARGV[each + 1])', 'false']] },
  'a session of a run that is gone': { of: 'create-session', put: [["if run ~= '' and not", "if run == 'x' and not"]] },
  'an erasure that counts a test with each sending': { of: 'erase-record', put: [['removed == 1 and', '']] },
  'a record removed at another version': {
    of: 'remove-record',
    put: [["if version ~= '' and", "if version == 'x' and"]],
  },
  'a row in the audit of a session that another writer has moved': {
    of: 'save-session',
    put: [['if not unmoved', 'put_audit(audit_id, audit)\nif not unmoved']],
  },
  'a row in the audit with each sending of an erasure': {
    of: 'begin-erasure',
    put: [['if begins == 1 then put_audit', 'if begins then put_audit']],
  },
  'a row in the audit with each request to stop': {
    of: 'request-stop',
    put: [['if not stands[2] then', 'if true then']],
  },
  'a change of a record whose row in the audit is forgotten': {
    of: 'replace-record',
    put: [['put_audit(audit_id, audit)\n', '']],
  },
  'a lost update: a save that does not compare': {
    of: 'save-session',
    put: [['if not unmoved then return false end', '']],
  },
  'a session known by its version alone': {
    of: null,
    put: [['stored[2]:find(mark, 1, true) ~= nil', 'stored[2] ~= false']],
  },
  'a session known by the beginning of its mark': {
    of: null,
    put: [['stored[2]:find(mark, 1, true)', 'stored[2]:find(mark:sub(7), 1, true)']],
  },
  'half a commit: a refused turn has moved the session': {
    of: 'begin-turn',
    put: [
      [
        "then return { 'full' } end",
        "then put_session(session, version + 1, record, active, expires, state, awaited) return { 'full' } end",
      ],
    ],
  },
  'half a commit: the request is not remembered with the turn': {
    of: 'begin-turn',
    put: [['remember(memory, memory_record, result, lasts)', '']],
  },
  'a turn begun again for a request that is remembered': {
    of: 'begin-turn',
    put: [["if earlier then return { 'remembered', earlier } end", '']],
  },
  'an append applied twice': {
    of: 'append-output',
    put: [['skip_points(text, tonumber(count), stored - position)', 'text, tonumber(count)']],
  },
  'text cut within a code point': {
    of: null,
    put: [["byte = text:find('[%z\\1-\\127\\192-\\255]', byte + 1)", 'byte = byte + 1']],
  },
  'text read from a position, a byte for each code point': {
    of: 'read-output-after',
    put: [['int(-4 * fresh)', 'int(-fresh)']],
  },
  'text read from a position, one piece late': {
    of: 'read-output-after',
    put: [['local fresh, held = stored - position, 0', 'local fresh, held = stored - position - 1, 0']],
  },
  'a follower of a session without a notice': {
    of: null,
    put: [['    announce_move(awaited)\n', '']],
  },
  'a move whose notice stays with the session': {
    of: null,
    put: [["redis.call('HDEL', at('session', session), 'awaited')", '']],
  },
  'a removed session without a notice': { of: null, put: [['if awaited then announce_move(awaited) end', '']] },
  'a reader who is not told that there is more': { of: 'append-output', put: [['announce(stands[4], awaited)', '']] },
  'a reader who is told of every piece': {
    of: 'append-output',
    put: [["redis.call('HDEL', flight, 'awaited', 'awaitedOn')", '']],
  },
  'a reader who is told of text that is not released': {
    of: 'append-output',
    put: [[' and (not released or tonumber(released) > stored)', '']],
  },
  'a reader who is not told of what is released': {
    of: 'release-output',
    put: [['announce(stands[3], stands[2])', '']],
  },
  'a reader who is not told of the end': { of: null, put: [['if stood[1] then announce(stood[3], stood[1]) end', '']] },
  'a turn begun twice when it is sent twice': { of: 'begin-turn', put: [['if begun then', 'if false then']] },
  'a turn finished twice when it is sent twice': { of: 'finish-turn', put: [['if earlier then', 'if false then']] },
  'a turn that is never cut': { of: 'finish-turn', put: [["if cut ~= '' then", 'if false then']] },
  'a cut counted in bytes': { of: 'finish-turn', put: [['drop_points(content, ends - cut)', 'content:sub(1, cut)']] },
  'a cut within a code point': {
    of: 'finish-turn',
    put: [["while text:find('^[\\128-\\191]', byte) do byte = byte - 1 end", '']],
  },
  'a cut text that counts as long as it was': {
    of: 'finish-turn',
    put: [['drop_points(content, ends - cut), tonumber(cut)', 'drop_points(content, ends - cut), ends']],
  },
  'a cut beyond the text taken for its end': {
    of: 'finish-turn',
    put: [["if tonumber(cut) > ends then return { 'hole', ends } end", 'if tonumber(cut) > ends then cut = ends end']],
  },
  'a session counted twice when it is sent twice': {
    of: 'create-session',
    put: [["if redis.call('EXISTS', at('session', session)) == 1", 'if false']],
  },
  'a turn seized from its living owner': {
    of: 'take-over-turn',
    put: [["if tonumber(stands[3]) > (latest == '' and time or math.min(time, latest)) then", 'if false then']],
  },
  'a withdrawn turn that leaves its messages': {
    of: 'withdraw-turn',
    put: [["redis.call('ZREMRANGEBYSCORE', at('messages', session), first, index)", '']],
  },
  'a finished turn that is withdrawn and stays counted': {
    of: 'withdraw-turn',
    put: [['count_usage(account, ended, 0, -1', 'type(account, ended, 0, -1']],
  },
  'feedback that is never removed': {
    of: 'rate-turn',
    put: [["redis.call('HDEL', turns, turn .. '/feedback')", '']],
  },
  'a claim that keeps nothing': { of: 'claim-turn', put: [["redis.call('HSET', turns, turn .. '/claimed', '1')", '']] },
  'a turn that is withdrawn first and begins then': {
    of: 'withdraw-turn',
    put: [['if not unmoved', "if not begun then return { 'fenced' } end if not unmoved"]],
  },
  'a request charged to the budgets that would have passed it': {
    of: 'take-budgets',
    put: [['if not refused or index == refused then', 'if true then']],
  },
  'a charge on any move': {
    of: 'charge-session',
    put: [["if not unmoved then return { 'lost' } end", '']],
  },
  'half a charge: the session moves where a limit refuses': {
    of: 'charge-session',
    put: [["if not all then return { 'limited', unpack(answers) } end", '']],
  },
  'half a charge: no limit is taken': {
    of: 'charge-session',
    put: [['local all, answers = take_limits(asked_at)', 'local all, answers = true, {}']],
  },
  'limits taken one by one': { of: 'take-limits', put: [['ipairs(all and taken or {})', 'ipairs(taken)']] },
  'a place for each who asks': { of: 'take-limits', put: [['(held or count < ceiling)', 'true']] },
  'a counter that is never counted': { of: 'take-limits', put: [['int(used + cost)', 'int(used)']] },
  'a quota that its last cost may exceed': {
    of: 'take-limits',
    put: [['passed = used + cost <= ceiling', 'passed = used < ceiling']],
  },
  'a turn that begins beyond a quota': {
    of: 'begin-turn',
    put: [['passed = used + cost <= ceiling', 'passed = true']],
  },
  'a settlement that is left out': { of: 'finish-turn', put: [['settle_limits(settled_at)\n', '']] },
  'a slug claimed by all who want it': { of: 'claim-slug', put: [['if claim[2] and claim[2] ~= id', 'if false']] },
  'a slug that is kept': { of: 'release-slug', put: [["redis.call('DEL', at('assistant'))", '']] },
  'a sweep that does not look again': {
    of: 'sweep-session',
    put: [["if redis.call('SCARD', at('flights', session)) > 0 then return 0 end", '']],
  },
  "a slot taken again that is somebody else's": {
    of: null,
    put: [['and is_full(slots, named[1], time) then return false end', 'and false then return false end']],
  },
  'a stop that is not kept': {
    of: 'request-stop',
    put: [["  redis.call('HSET', flight, 'stop', reason)\n", '']],
  },
  'a release that takes text back': {
    of: 'release-output',
    put: [['if not stands[1] or tonumber(points) <= tonumber(stands[1]) then', 'if not stands[1] then']],
  },
  'a stop that cuts no lease': { of: 'request-stop', put: [['if ends < tonumber(stands[1]) then', 'if false then']] },
  'a stop that prolongs a lease': { of: 'request-stop', put: [['if ends < tonumber(stands[1]) then', 'if true then']] },
  'a listing without the filter of status': {
    of: 'list-sessions',
    put: [["if status == '' then return true end", 'if true then return true end']],
  },
};

t.test('each broken Redis store fails its test', { skip: whyNoRedis() ?? false }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  t.teardown(() => server.stop());

  await t.test('passes as it is', async (t) => {
    t.same(await verdict(storesOn(server.url), ({ callersTime }) => !callersTime), []);
  });

  for (const [name, each] of Object.entries(broken)) {
    await t.test(`rejected: ${name}`, async (t) => {
      const runs = (error: Error): boolean => !/user_script/.test(String(error.cause ?? error));
      await rejected(
        t,
        name,
        storesOn(server.url, { scripts: editedScripts(each.of, each.put) }),
        runs,
        ({ callersTime }) => !callersTime,
      );
    });
  }
});
