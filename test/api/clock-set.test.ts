/** Sets the clock while the server runs, its own or Redis's: limits stay true, and nothing is lost. */
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { lackingFaketime, settableClock, settableRedisClock } from '../faults/moved-clock.ts';
import { temporaryFolder } from '../folders.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openHouse, type Answer, type House, type StreamEvent } from './house.ts';
import { say, synthetic, transcriptOf, until } from './talk.ts';

const daySeconds = 86_400;
const hourSeconds = 3600;

/** Servers on a store whose clock the test sets. */
interface Scene {
  start(): Promise<House>;
  /** Sets the clock to so many seconds ahead of the machine's. */
  set(seconds: number): void;
}

async function onLmdb(t: Test): Promise<Scene> {
  const folder = await temporaryFolder(t);
  const { env, set } = settableClock(folder);
  return { start: () => openHouse(t, { folder, embedded: true, env: { PARLEY_STORE: 'lmdb:./data', ...env } }), set };
}

async function onRedis(t: Test): Promise<Scene> {
  const folder = await temporaryFolder(t);
  const { env, set } = settableRedisClock(folder);
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  await redis.kill();
  await redis.run(env);
  const settings = { PARLEY_STORE: redis.url, PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough' };
  return { start: () => openHouse(t, { folder, env: settings }), set };
}

const stores = [
  ['LMDB', onLmdb, lackingFaketime() ?? false],
  ['Redis', onRedis, lackingFaketime() ?? whyNoRedis() ?? false],
] as const;

/** Asks until the key's budget refuses. */
async function exhaust(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status === 429) return answer;
  }
}

const waitAsTold = (answer: Answer): Promise<void> => pause(Number(answer.headers.get('retry-after')) * 1000);

for (const [name, open, skip] of stores) {
  for (const [how, seconds] of [
    ['back an hour', -hourSeconds],
    ['ahead an hour', hourSeconds],
  ] as const) {
    t.test(
      `a client on ${name} that waits as told passes, the clock being set ${how} meanwhile and before`,
      { skip },
      async (t) => {
        const { start, set } = await open(t);
        let house = await start();
        const { key } = await house.newKey({ limits: { requests: 60 } });
        const ask = (): Promise<Answer> => house.ask('/assistants', { key });
        const told = await exhaust(ask);
        t.ok(Number(told.headers.get('retry-after')) <= 60);
        set(seconds);
        await waitAsTold(told);
        t.equal((await ask()).status, 200, 'after the wait that was told before');
        await waitAsTold(await exhaust(ask));
        t.equal((await ask()).status, 200, 'after the wait that was told since');
        const before = await exhaust(ask);
        const resetSeconds = Number(before.headers.get('x-ratelimit-reset')) - seconds - Date.now() / 1000;
        t.ok(Math.abs(resetSeconds) <= 125, `the reset is ${resetSeconds} s ahead`);
        await house.kill('SIGKILL');
        set(0);
        house = await start();
        await waitAsTold(await exhaust(ask));
        t.equal((await ask()).status, 200, 'by another process, after the clock is right again');
        await house.stop();
      },
    );
  }

  t.test(`on ${name} a turn in flight completes although the clock is set back and ahead`, { skip }, async (t) => {
    const { start, set } = await open(t);
    const house = await start();
    // Another server on Redis looks for turns whose lease has expired.
    const other = name === 'Redis' ? await start() : house;
    const { id } = await synthetic(house, 'tokens=300,delay_ms=20', { max_call_seconds: daySeconds });
    const short = await house.assistant();
    const stream = await say(house, (await house.session(id)).id);
    const events: (StreamEvent | undefined)[] = [];
    for (const seconds of [-2, 2, -hourSeconds, hourSeconds]) {
      events.push(await stream.next());
      set(seconds);
      await until(async () => Math.abs((await other.session(short.id)).created_at - Date.now() / 1000 - seconds) < 1.5);
    }
    events.push(...(await stream.rest()));
    t.equal(events.findLast((event) => event !== undefined)?.event, 'turn.completed');
    for (const each of new Set([house, other])) await each.stop();
  });

  t.test(
    `on ${name} nothing is lost because the clock was 40 days ahead while a server started`,
    { skip },
    async (t) => {
      const { start, set } = await open(t);
      let house = await start();
      const { id } = await house.assistant();
      const { id: session } = await house.session(id);
      await (await say(house, session)).rest();
      const messages = await transcriptOf(house, session);
      t.equal(messages.length, 2);
      const { key } = await house.newKey({ expires_at: Math.floor(Date.now() / 1000) + 10 * daySeconds });
      set(40 * daySeconds);
      await house.kill('SIGKILL');
      house = await start();
      t.equal((await house.ask(`/sessions/${session}`)).status, 404, 'a session past retention is unknown');
      t.equal((await house.ask('/assistants', { key })).json.error.code, 'expired_api_key');
      set(0);
      // A server on Redis reads the clock every two seconds.
      await until(async () => (await house.ask('/assistants', { key })).status === 200);
      t.same(await transcriptOf(house, session), messages);
      await house.kill('SIGKILL');
      house = await start();
      t.same(await transcriptOf(house, session), messages, 'by another process');
      await house.stop();
    },
  );
}
