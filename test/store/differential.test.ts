/**
 * One contract, three implementations: random lives of memory, LMDB behind its journal, and Redis are the same, step by
 * step.
 */
import t from 'tap';
import { stepNames } from '../../src/store/steps.ts';
import { brokenScripts, brokenVerbs, scriptsWith } from './differential/broken.ts';
import { inMemory, onLmdb, onRedis, timedServer, type OpenContender } from './differential/contenders.ts';
import { Failed, runDifferential } from './differential/run.ts';
import { appendOnly, RedisServer, whyNoRedis } from './redis-server.ts';

const usualSeed = 40;
const seed = Number(process.env['PARLEY_TEST_SEED'] ?? usualSeed);
/** The first lives of this seed reach every answer that is wanted. */
const seedOfAll = Number(process.env['PARLEY_TEST_SEED'] ?? 50);
const skip = whyNoRedis() ?? false;
/** The contenders open and close their stores, and watch them. */
const compared = stepNames.filter((name) => !['open', 'close', 'watch', 'noteTime', 'deskWorkspaces'].includes(name));

/** Answers that lives must reach, so that the stores are compared in these cases at all. */
const wanted = [
  ...[
    'createSession created',
    'createSession remembered',
    'createSession outdated',
    'createSession gone',
    'saveSession 2',
    'saveSession null',
    'attendSession stored',
    'attendSession lost',
    'attendSession remembered',
    'chargeSession charged',
    'chargeSession lost',
    'chargeSession limited',
    'discardSession true',
    'discardSession false',
    'beginTurn begun',
    'beginTurn lost',
    'beginTurn full',
    'beginTurn outdated',
    'beginTurn limited',
  ],
  ...[
    'appendOutput stored',
    'appendOutput fenced',
    'appendOutput stop',
    'appendOutput failed',
    'renewTurn renewed',
    'renewTurn fenced',
    'renewTurn stop',
  ],
  ...[
    'releaseOutput released',
    'releaseOutput fenced',
    'stepTurn stored',
    'stepTurn fenced',
    'stepTurn stop',
    'stepTurn failed',
    'requestStop true',
    'requestStop false',
    'finishTurn finished',
    'finishTurn lost',
    'finishTurn fenced',
    'finishTurn failed',
    'withdrawTurn finished',
    'withdrawTurn lost',
  ],
  ...[
    'withdrawTurn fenced',
    'claimTurn true',
    'claimTurn false',
    'rateTurn true',
    'rateTurn false',
    'takeOverTurn epoch',
    'takeOverTurn null',
    'catalog.remove true',
    'catalog.replace 2',
    'catalog.replace null',
    'catalog.create failed',
    'takeLimits passed',
    'takeLimits refused',
  ],
];

/**
 * Bugs that no early life of the usual seed finds, with the first life that does: earlier lives are skipped. The lives
 * drawn may have changed since; then a later one finds it.
 */
const firstLives: Readonly<Record<string, number>> = {
  'a fence that is the epoch alone': 6,
  'a memory that outlasts its time': 28,
  'an append that renews no lease': 6,
  'a piece sent again that is stored again': 23,
  'a session of a run that is gone': 8,
  'a session on versions that have changed': 34,
  'a turn on versions that have changed': 12,
  'a halt with one failed turn more than the rule says': 29,
  'a halt without its entry in the history': 29,
  'a withdrawn turn that counts for no rollout': 29,
  'a finish that forgets what it answered': 12,
  'a cut beyond the text that is taken for its end': 12,
  'a withdrawn turn whose event stays': 28,
  'an end of a turn without its event': 12,
  'a failed turn that is not counted as one': 12,
  'a withdrawal that leaves its memory': 10,
  'a second stop in place of the first': 29,
  'a turn seized at the last millisecond of its lease': 6,
  'a refused request that costs nothing': 21,
  'limits that are taken beside one that refuses': 8,
  'a quota that its last cost may exceed': 6,
  'a place that is kept beyond its lease': 30,
  'a place for each seat': 12,
  'limits that a turn takes beside one that refuses it': 86,
  'a session that takes limits beside one that refuses': 6,
  'a turn that settles no limits': 12,
  'a withdrawn turn that gives nothing back': 27,
  'a turn begun without its row in the audit': 6,
  'a history with the message that is being written': 15,
  'a lease prolonged for whoever asks': 6,
  'a slot more than there are': 12,
  'a lease that is a millisecond longer': 43,
  'a transcript without its newest message': 29,
  'calls without what a provider put on them': 32,
  'a run that is removed at any version': 12,
};

function wordOf(answer: any): string {
  if (Array.isArray(answer) && typeof answer[0] === 'object' && 'waitMs' in answer[0])
    return answer.every(({ passed }) => passed) ? 'passed' : 'refused';
  if (answer instanceof Failed) return 'failed';
  if (typeof answer !== 'object' || answer === null) return String(answer);
  return answer.outcome ?? ('stop' in answer && !('epoch' in answer) ? 'stop' : 'epoch' in answer ? 'epoch' : '');
}

t.test('random lives of two stores give equal answers and contents', { skip }, async (t) => {
  const server = await RedisServer.start(...appendOnly);
  const timed = await timedServer(server.url);
  t.teardown(() => {
    timed.close();
    return server.stop();
  });
  const differs = (name: string, other: OpenContender): Promise<string | null> => {
    const path = String(seed === usualSeed ? (firstLives[name] ?? 0) : 0);
    return runDifferential([inMemory, other], { seed, runs: 400, length: 150, anyLength: true, path }).then(
      () => null,
      (error: Error) => error.message,
    );
  };

  await t.test('are the same on memory, LMDB and Redis', async (t) => {
    const seen = new Set<string>();
    const onAnswer = (verb: string, answer: unknown): void => void seen.add(verb).add(`${verb} ${wordOf(answer)}`);
    await t.resolves(
      runDifferential([inMemory, onLmdb(), onRedis(timed)], {
        seed: seedOfAll,
        runs: 36,
        length: 150,
        anyLength: true,
        onAnswer,
      }),
    );
    t.same(
      [...compared, ...wanted].filter((each) => !seen.has(each)),
      [],
      'every step is taken, with each of its answers',
    );
  });

  for (const [name, broken] of Object.entries(brokenScripts)) {
    await t.test(`differ: ${name}`, async (t) =>
      t.match(await differs(name, onRedis(timed, scriptsWith(broken))), /^The stores differ\.[^]* --seed \d+ --path /),
    );
  }
  for (const [name, changed] of Object.entries(brokenVerbs)) {
    await t.test(`differ: ${name}`, async (t) =>
      t.match(await differs(name, onLmdb(changed)), /^The stores differ\.[^]* --seed \d+ --path /),
    );
  }

  await t.test('differ again from the seed and path that were printed', async (t) => {
    const name = 'a turn begun on any move';
    const broken = onRedis(timed, scriptsWith(brokenScripts[name]!));
    const found = (await differs(name, broken)) ?? '';
    const [, path] = / --path (\S+)$/.exec(found)!;
    await t.rejects(runDifferential([inMemory, broken], { seed, runs: 400, length: 150, anyLength: true, path }), {
      message: found,
    });
  });
});
