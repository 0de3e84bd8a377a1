/** Ends of several processes under a supervisor, and reasons why they do not start. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { readConfig } from '../../src/base/config.ts';
import { ask } from '../http/edge/harness.ts';
import { startServer } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { openSupervised, portOf, secret, streaming, told, workersUp } from './supervised.ts';
import { transcriptOf, until } from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };
const redis = lacking === null ? await RedisServer.start(...appendOnly) : null;
t.teardown(() => redis?.stop());

t.test(
  'their port is not shared with others; a signal that comes to each of them at once, as by Ctrl-C, is one wish; who insists is heard',
  options,
  async (t) => {
    const patient = await openSupervised(t, redis!.url, 2);
    // Workers of this supervisor would share their port with another's.
    await samely(t, { PARLEY_STORE: redis!.url, PORT: String(portOf(patient)), PARLEY_EDGE: 'uws' });
    for (const pid of (await workersUp(patient, 2)).values()) process.kill(pid, 'SIGINT');
    patient.child.kill('SIGINT');
    t.same(await patient.kill('SIGINT'), { code: 0, signal: null });
    t.equal(told(patient, 'worker died').length, 0);

    const hasty = await openSupervised(t, redis!.url, 2);
    await workersUp(hasty, 2);
    await streaming(t, hasty, 'tokens=5,hang_at=1');
    let over = false;
    const ended = hasty.stop().finally(() => (over = true));
    // A request that fails is no sign of the end: the worker without a turn closes its listener at once and resets what
    // waits there.
    await until(() => {
      hasty.child.kill('SIGTERM');
      return ask(portOf(hasty), { path: '/readyz' }).then(
        () => over,
        () => over,
      );
    });
    t.same(await ended, { code: 1, signal: null });
  },
);

t.test('without their supervisor they let turns finish and end', options, async (t) => {
  const house = await openSupervised(t, redis!.url, 2, { workersAlone: true });
  await workersUp(house, 2);
  const { id, stream } = await streaming(t, house, 'tokens=60,delay_ms=20');
  // Resolves when no process holds its output any more.
  t.same(await house.kill('SIGKILL'), { code: null, signal: 'SIGKILL' });
  t.ok(await stream.over);
  t.match(stream.text, /event: turn\.completed/);
  t.equal(told(house, 'ended').length, 2);
  const again = await openSupervised(t, redis!.url, 1, { env: { PORT: String(portOf(house)) } });
  t.match(await transcriptOf({ ...again, key: house.key, ask: (path) => again.ask(path, { key: house.key }) }, id), [
    {},
    { status: 'completed' },
  ]);
});

/** Starts a server that cannot start; resolves with its exit code and output. */
const failure = (t: Test, env: Record<string, string>): Promise<string> =>
  startServer(t, { env: { PARLEY_SECRET: secret, ...env } }).then(
    () => 'it started',
    (error: Error) => error.message,
  );

t.test(
  'the reason why it cannot start is printed once by several processes, with the exit code of one',
  options,
  async (t) => {
    const holder = createServer().listen(0, '127.0.0.1');
    t.teardown(() => void holder.close());
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const forgetful = await RedisServer.start();
    t.teardown(() => forgetful.stop());
    const wrong: Record<string, string>[] = [
      { PARLEY_STORE: redis!.url, PORT: String(port), PARLEY_EDGE: 'uws' },
      { PARLEY_STORE: redis!.url, HOST: '203.0.113.1' },
      { PARLEY_STORE: redis!.url, PARLEY_SECRET: '' },
      { PARLEY_STORE: forgetful.url },
      { PARLEY_STORE: 'redis://127.0.0.1:1' },
    ];
    for (const env of wrong) await samely(t, env);
  },
);

/** Checks that several processes give the reason that one gives. */
async function samely(t: Test, env: Record<string, string>): Promise<void> {
  const alone = await failure(t, env);
  t.match(alone, /with [12] before it listened\.\n[^\n]+\n$/);
  const several = await failure(t, { ...env, PARLEY_PROCESSES: '3' });
  t.equal(
    several
      .split('\n')
      .filter((line) => !line.startsWith('{'))
      .join('\n'),
    alone,
  );
}

t.test('an embedded store belongs to one process', async (t) => {
  for (const store of ['lmdb:./data', 'memory:'])
    t.throws(
      () => readConfig({ PARLEY_STORE: store, PARLEY_PROCESSES: '2' }),
      { message: /^[^\n]*PARLEY_PROCESSES[^\n]*PARLEY_STORE[^\n]*redis:[^\n]*$/ },
      store,
    );
  for (const count of ['0', '65', 'many'])
    t.throws(
      () => readConfig({ PARLEY_PROCESSES: count }),
      { message: /^PARLEY_PROCESSES must be a whole number from 1 to 64[^\n]*$/ },
      count,
    );
  t.match(
    await failure(t, { PARLEY_PROCESSES: '2' }),
    /with 2 before it listened\.\n[^\n]*PARLEY_PROCESSES[^\n]*PARLEY_STORE[^\n]*redis:[^\n]*\n$/,
  );
});
