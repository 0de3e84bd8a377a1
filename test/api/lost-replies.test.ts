/**
 * Replies of Redis that come late or never, on real processes: a 503 leaves no turn, and a stream ends as the turn is
 * stored (contract 7).
 */
import t, { type Test } from 'tap';
import { wayToRedis, type Way } from '../faults/way.ts';
import { loadScripts } from '../../src/store/redis/scripts.ts';
import type { ScriptName } from '../../src/store/redis/steps.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, textOf, type House } from './house.ts';
import { refused, say, sayInVain, synthetic, transcriptOf, until } from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };
const scripts = loadScripts();

/** A process whose way to Redis has faults, and one beside it that has none. */
interface World {
  readonly lossy: House;
  readonly sound: House;
  readonly way: Way;
  readonly key: string;
}

async function open(t: Test): Promise<World> {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const { way, url } = await wayToRedis(t, redis.port);
  const env = { PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  const sound = await openHouse(t, { env: { ...env, PARLEY_STORE: redis.url } });
  const lossy = await openHouse(t, { env: { ...env, PARLEY_STORE: url, PARLEY_OPERATOR_TOKEN: sound.operatorToken } });
  // The first call of a script sends its source, and only the later ones the digest that a stall looks for.
  const { id } = await sound.session((await synthetic(sound, 'tokens=3,delay_ms=300')).id);
  await (await say(lossy, id, 'Hello', { key: sound.key })).rest();
  return { lossy, sound, way, key: sound.key };
}

/** Loses all answers from the next time that a step of a session is sent, although the step arrives. */
const stallAt = (way: Way, step: ScriptName, sessionId: string): Promise<void> =>
  new Promise((resolve) => {
    way.onThere = (bytes) => {
      if (!bytes.includes(scripts[step].digest) || !bytes.includes(sessionId)) return;
      way.stall(['back']);
      resolve();
    };
  });

/** The steps of a kind that the process has given up. */
const givenUp = async (house: House, verb: string): Promise<number> =>
  Number(
    new RegExp(`parley_store_errors_total\\{step="${verb}"\\} (\\d+)`).exec(
      (await house.ask('/metrics', { key: null })).text,
    )?.[1] ?? 0,
  );

const turnsOf = async (house: House, key: string): Promise<number> =>
  (await house.ask('/usage', { key })).json.totals.turns;

t.test('late replies of the store are all kept', options, async (t) => {
  const world = await open(t);
  await t.test('a chat whose begin is answered late is 503 and leaves nothing, and its repeats run anew', (t) =>
    refusedLate(t, world, 'begin-turn'),
  );
  await t.test('a chat whose first piece is stored late is 503 and leaves nothing', (t) =>
    refusedLate(t, world, 'append-output'),
  );
  await t.test('an end that is answered late is told as it is stored, and nothing before', (t) => endedLate(t, world));
  await t.test('a turn waits for a store that is silent for less than its lease', (t) => silence(t, world));
});

async function refusedLate(t: Test, { lossy, sound, way, key }: World, step: ScriptName): Promise<void> {
  // Pieces that came together with the end would be stored with it, in one step.
  const assistant = await synthetic(sound, 'tokens=3,delay_ms=300');
  const sessions = [
    await sound.session(assistant.id),
    await sound.session(assistant.id),
    await sound.session(assistant.id),
  ];
  const before = await turnsOf(sound, key);
  for (const [index, { id }] of sessions.entries()) {
    const ask = { key, headers: { 'idempotency-key': `${step} again ${index}` } };
    const stalled = stallAt(way, step, id);
    const refusal = sayInVain(lossy, id, 'Hello', ask);
    await stalled;
    refused(t, await refusal, 503, 'api_error');
    way.mend();
    if (index === 2) {
      const left = async (): Promise<boolean> =>
        (await transcriptOf(sound, id)).length > 0 ||
        (await sound.ask(`/sessions/${id}`, { key })).json.status !== 'open';
      await until(async () => !(await left()));
      t.equal(await turnsOf(sound, key), before + 2, 'it is in no usage');
    }
    const again = await until(() => say(index === 1 ? sound : lossy, id, 'Hello', ask).catch(() => null));
    t.notOk(again.headers.has('idempotent-replayed'), index === 1 ? 'elsewhere as well' : 'it is no replay');
    const events = await again.rest();
    t.same([events.at(-1)!.event, textOf(events) !== ''], ['turn.completed', true]);
    t.match(await transcriptOf(sound, id), [
      { content: 'Hello', turn_id: again.turnId },
      { content: textOf(events), status: 'completed', turn_id: again.turnId },
    ]);
  }
  t.equal(await turnsOf(sound, key), before + 3);
}

async function endedLate(t: Test, { lossy, sound, way, key }: World): Promise<void> {
  const assistant = await synthetic(sound, 'tokens=5,delay_ms=20');
  const { id } = await sound.session(assistant.id);
  const [turns, errors] = [await turnsOf(sound, key), await givenUp(lossy, 'finishTurn')];
  const stalled = stallAt(way, 'finish-turn', id);
  const stream = await say(lossy, id, 'Hello', { key });
  await stalled;
  await until(async () => (await givenUp(lossy, 'finishTurn')) > errors);
  t.match(
    (await transcriptOf(sound, id))[1],
    { status: 'completed', turn_id: stream.turnId },
    'it is stored all the while',
  );
  way.mend();
  const events = await stream.rest();
  t.equal(events.at(-1)!.event, 'turn.completed');
  t.equal(textOf(events), (await transcriptOf(sound, id))[1].content);
  t.equal(await turnsOf(sound, key), turns + 1);
}

async function silence(t: Test, { lossy, sound, way, key }: World): Promise<void> {
  const assistant = await synthetic(sound, 'tokens=200,delay_ms=20');
  const { id } = await sound.session(assistant.id);
  const errors = await givenUp(lossy, 'appendOutput');
  const stream = await say(lossy, id, 'Hello', { key });
  const first = (await stream.next())!;
  const second = (await stream.next())!;
  const stalled = stallAt(way, 'append-output', id);
  await stalled;
  await until(async () => (await givenUp(lossy, 'appendOutput')) > errors);
  way.mend();
  const events = [first, second, ...(await stream.rest())];
  t.equal(events.at(-1)!.event, 'turn.completed');
  t.match((await transcriptOf(sound, id))[1], { status: 'completed', content: textOf(events) });
}
