/** `PARLEY_PROCESSES`: several processes on one port under a supervisor. */
import type { IncomingMessage } from 'node:http';
import t, { type Test } from 'tap';
import { ask } from '../http/edge/harness.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, type House } from './house.ts';
import { beginsAtZero } from './samples.ts';
import { clientsOf, lineOf, linesOf, openSupervised, portOf, streaming, told, workersUp } from './supervised.ts';
import { chatPath, end, transcriptOf, until } from './talk.ts';

const lacking = whyNoRedis();
const options = lacking === null ? {} : { skip: lacking };
const redis = lacking === null ? await RedisServer.start(...appendOnly) : null;
t.teardown(() => redis?.stop());

t.test(`${edge}: all answer at one address, and SIGTERM drains all`, options, async (t) => {
  const house = await openSupervised(t, redis!.url, 3);
  await workersUp(house, 3);
  const clients = await clientsOf(t, house, 3);
  t.same(new Set(clients.keys()), new Set([1, 2, 3]), 'each by a number of its own');
  t.equal(house.stdout().match(/parley listens on/g)!.length, 1, 'the banner comes once');
  const streams = await Promise.all(
    [...clients.values()].map((client) => streaming(t, house, 'tokens=60,delay_ms=20', client)),
  );
  t.same(await house.stop(), { code: 0, signal: null });
  for (const { stream } of streams) {
    t.ok(await stream.over);
    t.match(stream.text, /event: turn\.completed/, 'turns finish');
  }
  t.equal(told(house, 'ended').length, 3);
  t.equal(linesOf(house).at(-1).msg, 'all ended');
  t.equal(house.stderr(), '');
});

t.test('two of them, of which one dies', options, async (t) => {
  const fickle = await RedisServer.start(...appendOnly);
  t.teardown(() => fickle.stop());
  const house = await openSupervised(t, fickle.url, 2);
  await t.test('whichever a scrape reaches, it tells of both, and of those that have ended', (t) => scraped(t, house));
  await t.test('it is replaced while the other serves on, and its turn is sealed', (t) => replaced(t, house));
  await t.test('while it does not start it is retried later and later', (t) => retried(t, house, fickle));
  t.same(await house.stop(), { code: 0, signal: null });
});

async function scraped(t: Test, house: House): Promise<void> {
  const workers = await workersUp(house, 2);
  const clients = await clientsOf(t, house, 2);
  beginsAtZero(t, (await clients.get(1)!.ask('/metrics')).text);
  for (const client of clients.values()) for (let i = 0; i < 5; i++) await client.ask('/asyncapi.json');
  const hanging = await Promise.all(
    [...clients.values()].map((client) => streaming(t, house, 'tokens=3,hang_at=1', client)),
  );
  const lookers = await clientsOf(t, house, 2);
  const counted = /parley_http_requests_total\{route="\/asyncapi\.json",status="200"\} 10\n/;
  for (const client of lookers.values()) {
    const { text } = await client.ask('/metrics');
    t.match(text, counted);
    t.match(text, /\nparley_turns_in_flight 2\n/);
    t.match(text, /\nparley_event_loop_lag_seconds \d/);
  }
  process.kill(workers.get(2)!, 'SIGKILL');
  await lineOf(house, ({ worker, msg }) => worker === 3 && msg === 'listening');
  const { text } = await lookers.get(1)!.ask('/metrics');
  t.match(text, counted, 'what the dead one counted stays');
  t.match(text, /\nparley_turns_in_flight 1\n/, 'what it had in flight does not');
  for (const { id } of hanging) await end(house, id);
}

async function replaced(t: Test, house: House): Promise<void> {
  const workers = await workersUp(house, 2);
  const clients = await clientsOf(t, house, 2);
  const { id, stream } = await streaming(t, house, 'tokens=100000,delay_ms=5', clients.get(3));
  process.kill(workers.get(3)!, 'SIGKILL');
  t.equal(await stream.over, false);
  t.equal((await clients.get(1)!.ask('/assistants')).status, 200);
  const died = await lineOf(house, ({ msg, worker }) => msg === 'worker died' && worker === 3);
  t.match(died, { level: 'error', code: null, signal: 'SIGKILL', restart_ms: Number });
  const now = await workersUp(house, 2);
  t.same([...now.keys()], [1, 4]);
  t.ok((await clientsOf(t, house, 2)).has(4));
  const status = await until(async () => {
    const { statusCode } = await leave(await clients.get(1)!.open(chatPath(id), { message: 'Hello' }));
    return statusCode !== 409 && statusCode;
  });
  t.equal(status, 200, 'the session goes on');
  const [, partial] = await transcriptOf(house, id);
  t.match(partial, { status: 'partial', stop_reason: 'error', error_code: 'api_error' });
  const seen = [...stream.text.matchAll(/"text":"([^"]*)"\}\n\n/g)].map(([, text]) => text).join('');
  t.ok(seen.length > 0 && partial.content.startsWith(seen), 'what was seen is kept');
  await end(house, id);
}

/** Takes the head of an answer and no more. */
const leave = (response: IncomingMessage): IncomingMessage => response.on('error', () => {}).destroy();

async function retried(t: Test, house: House, fickle: RedisServer): Promise<void> {
  const workers = await workersUp(house, 2);
  await fickle.kill();
  process.kill(workers.get(4)!, 'SIGKILL');
  await lineOf(house, ({ restart_ms }) => restart_ms === 400);
  t.match(
    told(house, 'worker died')
      .map(({ restart_ms }) => restart_ms)
      .slice(-3),
    [100, 200, 400],
  );
  t.equal((await ask(portOf(house), { path: '/healthz' })).status, 200, 'the other one is there');
  await fickle.run();
  await workersUp(house, 2);
}
