/** SIGHUP: a rolling restart of several processes under a supervisor. */
import { on } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ask } from '../http/edge/harness.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import type { House } from './house.ts';
import { clientsOf, lineOf, openSupervised, portOf, streaming, told, workersUp } from './supervised.ts';
import { say, sayInVain, synthetic, until } from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };
const redis = lacking === null ? await RedisServer.start(...appendOnly) : null;
t.teardown(() => redis?.stop());

type Outcome = number | string;

/**
 * Four clients that create sessions, each on a separate connection, until stopped: the status of each, or the code of
 * its error.
 */
function creating(
  house: House,
  assistantId: string,
  between = async (): Promise<void> => {},
): { stop(): Promise<Outcome[]> } {
  const headers = { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ assistant_id: assistantId });
  let stopped = false;
  const clients = Array.from({ length: 4 }, async (): Promise<Outcome[]> => {
    const outcomes: Outcome[] = [];
    while (!stopped) {
      const asked = ask(portOf(house), { method: 'POST', path: '/sessions', headers, body });
      outcomes.push(
        await asked.then(
          ({ status }) => status,
          ({ code }) => code,
        ),
      );
      await between();
    }
    return outcomes;
  });
  return {
    stop: async () => {
      stopped = true;
      return (await Promise.all(clients)).flat();
    },
  };
}

t.test('uws: SIGHUP replaces them one after another and loses nothing', options, async (t) => {
  const house = await openSupervised(t, redis!.url, 2, { env: { PARLEY_EDGE: 'uws' } });
  await workersUp(house, 2);
  const clients = await clientsOf(t, house, 2);
  const begun = await Promise.all(
    [...clients.values()].map((client) => streaming(t, house, 'tokens=80,delay_ms=20', client)),
  );
  const short = await synthetic(house, 'tokens=2');
  const { id } = await house.session(short.id);
  // The pause keeps them from using every core until the restart is done.
  const load = creating(house, short.id, () => pause(50));
  house.child.kill('SIGHUP');
  await lineOf(house, ({ msg }) => msg === 'rolling restart done');
  const outcomes = await load.stop();
  const made = outcomes.filter((outcome) => outcome === 201).length;
  t.ok(made > 20);
  // The system resets connections that it has given to a worker whose socket closes in this instant
  // (docs/many-processes.md).
  const reset = outcomes.filter((outcome) => outcome === 'ECONNRESET').length;
  t.equal(outcomes.length - made - reset, 0, 'no request fails otherwise');
  t.ok(reset <= 2, `${reset} connections were reset as two workers were replaced`);
  for (const { stream } of begun) {
    t.ok(await stream.over);
    t.match(stream.text, /event: turn\.completed/, 'turns finish where they began');
  }
  t.same([...(await workersUp(house, 2)).keys()], [3, 4]);
  const { text } = await ask(portOf(house), { path: '/metrics' });
  t.ok(text.includes(`{route="/sessions",status="201"} ${made + 3}\n`), 'what the old ones counted is kept');
  t.equal(told(house, 'worker died').length, 0);
  t.equal((await (await say(house, id)).rest()).at(-1)!.event, 'turn.completed');
  t.same(await house.stop(), { code: 0, signal: null });
});

t.test('node: SIGHUP loses nothing, and what goes wrong in a rolling restart', options, async (t) => {
  const fickle = await RedisServer.start(...appendOnly);
  t.teardown(() => fickle.stop());
  const house = await openSupervised(t, fickle.url, 2, { env: { PARLEY_EDGE: 'node' } });
  const workers = await workersUp(house, 2);

  await t.test('when the first new process does not start, the old ones stay', async (t) => {
    await fickle.kill();
    house.child.kill('SIGHUP');
    await lineOf(house, ({ msg }) => /^rolling restart given up/.test(msg));
    await fickle.run();
    t.same([...(await workersUp(house, 2)).keys()], [1, 2]);
    const made = async () => house.session((await synthetic(house, 'tokens=1,fail_at=0')).id);
    const session = await until(() => made().catch(() => null));
    t.equal((await sayInVain(house, session.id)).status, 503);
  });

  await t.test('a process that dies meanwhile is replaced in the end', async (t) => {
    house.child.kill('SIGHUP');
    await lineOf(house, ({ worker, msg }) => worker === 4 && msg === 'worker starts');
    process.kill(workers.get(2)!, 'SIGKILL');
    await lineOf(house, ({ msg }) => msg === 'rolling restart done');
    t.ok([...(await workersUp(house, 2)).keys()].every((worker) => worker >= 4));
  });

  await t.test('requests without a pause are all answered: the workers share one socket', async (t) => {
    const before = await workersUp(house, 2);
    const { id } = await synthetic(house, 'tokens=2');
    // Each request is a line of the log, so the lines are read once each.
    const lines = on(createInterface({ input: house.child.stdout! }), 'line');
    const load = creating(house, id);
    house.child.kill('SIGHUP');
    const ended = async (): Promise<number> => {
      for (;;) {
        const { msg, worker } = JSON.parse((await lines.next()).value[0]);
        if (msg === 'ended') return worker;
      }
    };
    t.ok(before.has(await ended()), 'one of them is replaced');
    const outcomes = await load.stop();
    t.ok(outcomes.length > 100, `${outcomes.length} requests`);
    t.same(
      outcomes.filter((outcome) => outcome !== 201),
      [],
    );
    await ended();
    t.same(await house.stop(), { code: 0, signal: null });
  });
});
