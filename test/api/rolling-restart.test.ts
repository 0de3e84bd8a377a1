/** SIGHUP: a rolling restart of several processes under a supervisor. */
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { ask } from '../edge/harness.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edges } from './house.ts';
import { clientsOf, lineOf, openSupervised, portOf, streaming, told, workersUp } from './supervised.ts';
import { say, sayInVain, synthetic, until } from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };
const redis = lacking === null ? await RedisServer.start(...appendOnly) : null;
t.teardown(() => redis?.stop());

for (const edge of edges) {
  t.test(`${edge}: SIGHUP replaces them one after another and loses nothing`, options, async (t) => {
    const house = await openSupervised(t, redis!.url, 2, { env: { PARLEY_EDGE: edge } });
    await workersUp(house, 2);
    const clients = await clientsOf(t, house, 2);
    const begun = await Promise.all([...clients.values()].map((client) => streaming(t, house, 'tokens=150,delay_ms=20', client)));
    const short = await synthetic(house, 'tokens=2');
    const { id } = await house.session(short.id);
    let done = false;
    const headers = { authorization: `Bearer ${house.key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ assistant_id: short.id });
    // Everyone connects anew for each request. Without a pause they would keep every core busy until the restart is done.
    const load = Array.from({ length: 4 }, async (): Promise<(number | string)[]> => {
      const outcomes: (number | string)[] = [];
      while (!done) {
        const asked = ask(portOf(house), { method: 'POST', path: '/sessions', headers, body });
        outcomes.push(await asked.then(({ status }) => status, ({ code }) => code));
        await pause(25);
      }
      return outcomes;
    });
    house.child.kill('SIGHUP');
    await lineOf(house, ({ msg }) => msg === 'rolling restart done');
    done = true;
    const outcomes = (await Promise.all(load)).flat();
    const made = outcomes.filter((outcome) => outcome === 201).length;
    t.ok(made > 20);
    // With sockets of their own the system resets what it has given to a worker that closes in this instant (docs/many-processes.md).
    const reset = edge === 'uws' ? outcomes.filter((outcome) => outcome === 'ECONNRESET').length : 0;
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
}

t.test('a rolling restart whose first new process does not start leaves the old ones', options, async (t) => {
  const fickle = await RedisServer.start(...appendOnly);
  t.teardown(() => fickle.stop());
  const house = await openSupervised(t, fickle.url, 2);
  await workersUp(house, 2);
  await fickle.kill();
  house.child.kill('SIGHUP');
  await lineOf(house, ({ msg }) => /^rolling restart given up/.test(msg));
  await fickle.run();
  t.same([...(await workersUp(house, 2)).keys()], [1, 2]);
  const made = async () => house.session((await synthetic(house, 'tokens=1,fail_at=0')).id);
  const session = await until(() => made().catch(() => null));
  t.equal((await sayInVain(house, session.id)).status, 503);
  t.same(await house.stop(), { code: 0, signal: null });
});

t.test('one that dies meanwhile is replaced in the end', options, async (t) => {
  const house = await openSupervised(t, redis!.url, 3);
  const workers = await workersUp(house, 3);
  house.child.kill('SIGHUP');
  await lineOf(house, ({ worker, msg }) => worker === 4 && msg === 'worker starts');
  process.kill(workers.get(3)!, 'SIGKILL');
  await lineOf(house, ({ msg }) => msg === 'rolling restart done');
  t.equal((await workersUp(house, 3)).size, 3);
  t.same(await house.stop(), { code: 0, signal: null });
});
