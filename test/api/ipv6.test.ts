/** `HOST=::1`, an address that needs brackets: the output of a start, the command, the doctor and several processes. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import t from 'tap';
import { freePort } from '../../bench/harness/process.ts';
import { WheelClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/base/config.ts';
import { firstStart } from '../../src/operations/first-start.ts';
import { Host } from '../../src/host.ts';
import { randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { openLog } from '../../src/base/log.ts';
import type { Services } from '../../src/conversation/services.ts';
import { SignIns } from '../../src/access/sign-ins.ts';
import { memoryStore } from '../../src/store/memory.ts';
import { start } from '../cli/support.ts';
import { diagnose } from '../operations/doctor/diagnosis.ts';
import { startServer } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, edges, openHouse } from './house.ts';
import { lineOf, openSupervised, portOf, workersUp } from './supervised.ts';
import { begin, synthetic } from './talk.ts';

/** Returns the reason why this machine has no such address, or null. */
async function whyNoAddress(): Promise<string | null> {
  const server = createServer().listen({ host: '::1', port: 0 });
  const listening = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  server.close();
  return listening ? null : 'this machine has no ::1';
}

/**
 * Returns the addresses and ports on which a process listens, from Linux. Another process may listen on the same port
 * of another address, so a connection proves nothing.
 */
function listenersOf(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /socket:\[(\d+)\]/.exec(linkOf(`/proc/${pid}/fd/${fd}`))?.slice(1) ?? [],
    ),
  );
  return ['tcp', 'tcp6'].flatMap((name) => {
    const rows = readFileSync(`/proc/${pid}/net/${name}`, 'utf8')
      .split('\n')
      .slice(1)
      .map((row) => row.trim().split(/\s+/));
    const own = rows.filter(([, , , state, , , , , , inode]) => state === '0A' && inodes.has(inode!));
    return own.map(([, local]) => {
      const [address, port] = local!.split(':') as [string, string];
      return `${address === loopback ? '::1' : address} ${Number.parseInt(port, 16)}`;
    });
  });
}

/** `::1` as Linux writes it: four words, each in the machine's order of bytes. */
const loopback = '00000000000000000000000001000000';

/** A descriptor may be closed while the list is read. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

const skip = (await whyNoAddress()) ?? false;
const host = { HOST: '::1' };

t.test('printed commands name the server and its token, unless the command finds them by itself', async (t) => {
  const clock = new WheelClock();
  const printed = async (url: string, setting = 'lmdb:./data'): Promise<string[]> => {
    const store = memoryStore();
    await store.open(clock.now());
    const ids = randomIds(clock);
    const log = openLog('silent', clock);
    const host = new Host(store, clock, ids, log, limits.turnMsMax);
    const signIns = new SignIns({ store, clock, ids, log, operatorToken: 'token' });
    const services = {
      store,
      clock,
      ids,
      host,
      signIns,
      config: readConfig({ PARLEY_STORE: setting }),
      operatorToken: 'token',
    } as unknown as Services;
    return (await firstStart(services, url, 'uws')).match(/(?:PARLEY_\S+ )?npx parley [^\n`]*/g)!;
  };
  t.same(await printed('http://127.0.0.1:8080'), [
    'npx parley keys create NAME',
    'npx parley chat',
    'npx parley speak "Hello there"',
    'npx parley console',
  ]);
  for (const [setting, variable] of [
    ['lmdb:./other', "PARLEY_STORE='lmdb:./other'"],
    ['memory:', 'PARLEY_OPERATOR_TOKEN=token'],
  ] as const)
    for (const line of await printed('http://127.0.0.1:8081', setting))
      t.match(line, new RegExp(`^${variable} npx parley .* --url http://127\\.0\\.0\\.1:8081$`));
  t.equal((await printed('http://[::1]:8080'))[1], 'npx parley chat --url http://[::1]:8080');
  clock.stop();
});

t.test(`${edge}: what is printed works as it is`, { skip }, async (t) => {
  const house = await startServer(t, {
    env: { ...host, PARLEY_STORE: 'memory:', PARLEY_EDGE: edge, PARLEY_LOG: 'silent' },
  });
  t.match(house.url, /^http:\/\/\[::1\]:\d+$/);
  const [, args] = /npx parley (chat [^\n]*)/.exec(house.stdout())!;
  t.equal(args, `chat --url ${house.url}`);
  const chat = await start(t, args!.split(' '), {
    env: { PARLEY_OPERATOR_TOKEN: house.operatorToken },
    input: 'ping\n',
  }).finished;
  t.match(chat, { code: 0, stderr: '' });
  t.match(chat.stdout, /“ping”/);
  const [line] = /curl -N [^\n]*/.exec(house.stdout())!;
  t.match((await promisify(execFile)('sh', ['-c', line])).stdout, /event: turn\.completed/);
  const port = new URL(house.url).port;
  const found = await diagnose({ PARLEY_STORE: 'memory:', ...host, PORT: port });
  t.match(found.of('port'), { status: 'ok', found: `${port} on ::1 is served by a parley, which is ready` });
  const free = String(await freePort());
  t.match((await diagnose({ PARLEY_STORE: 'memory:', ...host, PORT: free })).of('port'), {
    status: 'ok',
    found: `${free} on ::1 is free`,
  });
  t.same(await house.stop(), { code: 0, signal: null });
});

for (const edge of edges) {
  t.test(`${edge}: turns, and the management port`, { skip }, async (t) => {
    const house = await openHouse(t, {
      env: { ...host, PARLEY_EDGE: edge, PARLEY_LOG: 'info', PARLEY_MANAGEMENT_PORT: '0' },
    });
    const { stream } = await begin(house, (await synthetic(house, 'tokens=3')).id);
    t.equal((await stream.rest()).at(-1)?.event, 'turn.completed');
    t.equal((await lineOf(house, ({ route }) => route === '/sessions/{id}/chat')).address, '::1');
    const { port } = await lineOf(house, ({ msg }) => msg === 'management port listens');
    t.equal((await fetch(`http://[::1]:${port}/readyz`)).status, 200);
    t.same(
      listenersOf(house.child.pid!).toSorted(),
      [port as number, portOf(house)].map((each) => `::1 ${each}`).toSorted(),
      'it listens nowhere else',
    );
  });
}

t.test(`${edge}: several processes`, { skip: skip || (whyNoRedis() ?? false) }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openSupervised(t, redis.url, 2, { env: { ...host, PARLEY_MANAGEMENT_PORT: '0' } });
  await workersUp(house, 2);
  t.equal(house.url, `http://[::1]:${portOf(house)}`);
  const { stream } = await begin(house, (await synthetic(house, 'tokens=3')).id);
  t.equal((await stream.rest()).at(-1)?.event, 'turn.completed');
  const { port } = await lineOf(house, ({ msg }) => msg === 'management port listens');
  t.match(await (await fetch(`http://[::1]:${port}/metrics`)).text(), /\nparley_turns_in_flight 0\n/);
  t.same(await house.stop(), { code: 0, signal: null });
});
