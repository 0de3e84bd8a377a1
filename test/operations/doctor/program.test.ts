import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { readConfig } from '../../../src/base/config.ts';
import { bytes, fail, ok, warn, worstOf } from '../../../src/store/doctor/check.ts';
import { engine, nodeVersion } from '../../../src/operations/doctor/program.ts';
import { Node } from '../../../src/store/redis/doctor/node.ts';
import * as server from '../../../src/store/redis/doctor/server.ts';
import { troubleOf } from '../../../src/store/redis/doctor/trouble.ts';
import { loadScripts } from '../../../src/store/redis/scripts.ts';
import { startServer } from '../../process.ts';
import { whyNoRedis } from '../../store/redis-server.ts';
import { diagnose } from './diagnosis.ts';
import { redis } from './redis-support.ts';

t.test('settings: each that cannot be used, and the rest goes on', async (t) => {
  const found = await diagnose({
    PARLEY_STORE: 'memory:',
    PORT: 'eighty',
    PARLEY_LOG: 'loud',
    PARLEY_SECRET: 'short',
    PARLEY_OPERATOR_TOKEN: '',
  });
  const said = found.checks.filter(({ id }) => id === 'settings');
  t.same(
    said.map(({ status, found }) => `${status} ${found.split(' ')[0]}`),
    ['fail PORT', 'fail PARLEY_SECRET', 'fail PARLEY_LOG'],
  );
  t.same(
    said.map(({ advice }) => advice),
    ['PORT', 'PARLEY_SECRET', 'PARLEY_LOG'].map((variable) => `Correct ${variable}: parley serve --help.`),
  );
  t.equal(found.of('store').status, 'warn');
  t.equal(found.ok, false);
  t.match(await diagnose({ PARLEY_STORE: 'redis' }), { ok: false, store: null, unwell: ['fail settings'] });
});

t.test('settings: those of OpenID Connect are examined together', async (t) => {
  const valid = {
    PARLEY_STORE: 'memory:',
    PARLEY_OIDC_ISSUER: 'http://10.0.0.1',
    PARLEY_OIDC_CLIENT_ID: 'parley',
    PARLEY_OIDC_CLIENT_SECRET: 'secret',
    PARLEY_OIDC_ROLES: 'groups=admins:owner',
    PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
  };
  t.equal((await diagnose(valid)).of('settings').status, 'ok');
  const found = await diagnose({ ...valid, PARLEY_OIDC_ROLES: 'groups=admins' });
  t.match(found.unwell, ['fail settings']);
  t.match(found.of('settings'), { found: /^PARLEY_OIDC_ROLES must list/, advice: /^Correct PARLEY_OIDC_ROLES:/ });
});

t.test('traces: the collector is named, and its wrong address is a setting to correct', async (t) => {
  const memory = { PARLEY_STORE: 'memory:' };
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  t.equal((await diagnose(memory)).of('traces').status, 'not looked at');
  t.match((await diagnose({ ...memory, ...endpoint })).of('traces'), {
    status: 'ok',
    found: 'on: they go to the collector of OTEL_EXPORTER_OTLP_ENDPOINT',
  });
  const wrong = [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
    { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
  ];
  for (const environment of wrong) {
    const found = await diagnose({ ...memory, ...environment });
    const [variable] = Object.keys(environment).slice(-1) as [string];
    t.match(found.unwell[0], 'fail settings');
    t.match(found.of('settings'), {
      found: new RegExp(`^${variable} must be`),
      advice: `Correct ${variable}: docs/settings.md has its values.`,
    });
  }
});

t.test('settings: what a store allows, and what all processes must be given', async (t) => {
  t.match(
    (await diagnose({ PARLEY_STORE: 'redis://127.0.0.1:1', PARLEY_DURABILITY: 'flushed' })).of('settings').found,
    'PARLEY_DURABILITY cannot be flushed with the store redis, which offers committed, replicated and replicated-output.',
  );
  const bare = await diagnose({ PARLEY_STORE: 'redis://127.0.0.1:1', PARLEY_SECRET: '', PARLEY_OPERATOR_TOKEN: '' });
  const said = bare.checks.filter(({ id }) => id === 'settings').map(({ found }) => found);
  t.same(
    said,
    ['PARLEY_SECRET', 'PARLEY_OPERATOR_TOKEN'].map(
      (variable) => `${variable} must be set with Redis, the same for every process.`,
    ),
  );
});

t.test('proxies: an address of the console behind a proxy, and no proxy that is trusted', async (t) => {
  const behind = { PARLEY_STORE: 'memory:', PARLEY_CONSOLE_ORIGIN: 'https://parley.example.com' };
  t.match((await diagnose(behind)).of('proxies'), {
    status: 'warn',
    found: /share the limit of one address/,
    advice: /PARLEY_TRUSTED_PROXIES/,
  });
  t.equal((await diagnose({ ...behind, PARLEY_TRUSTED_PROXIES: '10.0.0.0/8' })).of('proxies').status, 'not looked at');
  t.equal((await diagnose({ PARLEY_STORE: 'memory:' })).of('proxies').status, 'not looked at');
  t.match(
    (await diagnose({ PARLEY_STORE: 'memory:', PARLEY_PUBLIC_URL: 'https://parley.example.com' })).of('proxies'),
    { status: 'warn', found: /^PARLEY_PUBLIC_URL / },
  );
  t.equal(
    (await diagnose({ PARLEY_STORE: 'memory:', PARLEY_PUBLIC_URL: 'http://10.0.0.5:8080' })).of('proxies').status,
    'not looked at',
    'clients may reach the server directly',
  );
});

t.test('doctor reports a port as free, in use by another program, or on a foreign address', async (t) => {
  t.match((await diagnose({ PARLEY_STORE: 'memory:' })).of('port'), { status: 'ok', found: /a free one is picked/ });
  const other = createServer((_request, response) => response.end('{"status":"ok"}')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const port = String((other.address() as AddressInfo).port);
  const taken = await diagnose({ PARLEY_STORE: 'memory:', PORT: port });
  other.closeAllConnections();
  other.close();
  await once(other, 'close');
  t.match(taken.of('port'), {
    status: 'fail',
    found: `${port} on 127.0.0.1 is in use by another program`,
    advice: /PORT/,
  });
  t.match((await diagnose({ PARLEY_STORE: 'memory:', PORT: port })).of('port'), {
    status: 'ok',
    found: `${port} on 127.0.0.1 is free`,
  });
  t.match((await diagnose({ PARLEY_STORE: 'memory:', PORT: port, HOST: '192.0.2.1' })).of('port'), {
    status: 'fail',
    found: /not an address of this machine/,
  });
});

t.test('the management port: looked at where there is one, and not the port itself', async (t) => {
  const store = { PARLEY_STORE: 'memory:' };
  t.equal((await diagnose(store)).of('management-port').status, 'not looked at');
  t.match((await diagnose({ ...store, PARLEY_MANAGEMENT_PORT: '0' })).of('management-port'), {
    status: 'ok',
    found: 'PARLEY_MANAGEMENT_PORT=0: a free one is picked',
  });
  const same = await diagnose({ ...store, PORT: '9000', PARLEY_MANAGEMENT_PORT: '9000' });
  t.match(same.of('settings'), {
    status: 'fail',
    found: /^PARLEY_MANAGEMENT_PORT must be another port than PORT/,
    advice: /PARLEY_MANAGEMENT_PORT/,
  });
  const both = await diagnose({ ...store, PORT: 'eighty', PARLEY_MANAGEMENT_PORT: 'ninety' });
  t.same(
    both.checks.filter(({ status }) => status === 'fail').map(({ found }) => found.split(' ')[0]),
    ['PORT', 'PARLEY_MANAGEMENT_PORT'],
  );

  const other = createServer((_request, response) => response.end('{"status":"ok"}')).listen(0, '127.0.0.1');
  await once(other, 'listening');
  const taken = String((other.address() as AddressInfo).port);
  const found = await diagnose({ ...store, PARLEY_MANAGEMENT_PORT: taken });
  t.match(found.of('management-port'), {
    status: 'fail',
    found: `${taken} on 127.0.0.1 is in use by another program`,
    advice: /PARLEY_MANAGEMENT_PORT/,
  });
  other.closeAllConnections();
  other.close();

  const house = await startServer(t, { env: { ...store, PARLEY_MANAGEMENT_PORT: '0', PARLEY_LOG: 'info' } });
  while (!house.stdout().includes('management port listens')) await once(house.child.stdout!, 'data');
  const ports = { PORT: new URL(house.url).port, PARLEY_MANAGEMENT_PORT: /"port":(\d+)/.exec(house.stdout())![1]! };
  const served = await diagnose({ ...store, ...ports });
  for (const id of ['port', 'management-port'])
    t.match(served.of(id), { status: 'ok', found: /is served by a parley, which is ready$/ }, id);
  const elsewhere = await diagnose({ ...store, PORT: ports.PORT, PARLEY_MANAGEMENT_PORT: '1' });
  t.match(elsewhere.of('port'), { status: 'warn', found: /is served by a parley that does not answer on 1$/ });
});

t.test('variables that Kubernetes sets for a service are named', async (t) => {
  const found = await diagnose({
    PARLEY_STORE: 'memory:',
    PARLEY_SERVICE_PORT: '8080',
    PARLEY_PORT: 'tcp://10.96.0.10:8080',
  });
  t.match(found.of('variables'), {
    status: 'warn',
    found: /^PARLEY_PORT, PARLEY_SERVICE_PORT: ignored/,
    advice: /PARLEY_MANAGEMENT_PORT/,
  });
  t.equal(found.of('settings').status, 'ok');
});

t.test('doctor reports the version of Node and the HTTP engine', async (t) => {
  t.equal(nodeVersion('20.18.1').status, 'ok');
  t.equal(nodeVersion('22.4.0').status, 'ok');
  t.match(nodeVersion('20.9.0'), { status: 'fail', advice: /Node 20\.18\.1 or later/ });
  const loadsNot = (): Promise<never> => Promise.reject(new Error('uWebSockets.js does not load on plan9.'));
  t.equal((await engine(readConfig({}))).status, 'ok');
  t.match(await engine(readConfig({}), loadsNot), {
    status: 'warn',
    found: /plan9\. node:http serves instead/,
    advice: /half as much processor time again/,
  });
  t.equal((await engine(readConfig({ PARLEY_EDGE: 'uws' }), loadsNot)).status, 'fail');
  t.equal((await engine(readConfig({ PARLEY_EDGE: 'node' }), loadsNot)).status, 'ok');
});

t.test('findings at several places', async (t) => {
  const at = (place: string, finding: ReturnType<typeof ok>) => ({ place, finding });
  t.same(worstOf([at('a', ok('x')), at('b', ok('x'))]), ok('x'));
  t.same(worstOf([at('a', ok('x')), at('b', ok('y'))]), ok('a: x; b: y'));
  t.same(worstOf([at('a', ok('x')), at('b', warn('y', 'do')), at('c', warn('z', 'do'))]), warn('b: y; c: z', 'do'));
  t.same(
    worstOf([at('a', fail('x', 'do')), at('b', warn('x', 'this')), at('c', fail('x', 'that'))]),
    fail('a: x; c: x', 'do that'),
  );
  t.same([0, 1023, 1024, 1.5 * 1024 ** 3].map(bytes), ['0 B', '1023 B', '1.0 KiB', '1.5 GiB']);
});

t.test('the report of Redis about itself', async (t) => {
  const telling = (facts: Readonly<Record<string, string>>): { fact(name: string): string } => ({
    fact: (name) => facts[name] ?? '',
  });
  t.equal(server.version(telling({ redis_version: '6.0.0' })).status, 'ok');
  t.equal(server.version(telling({ redis_version: '10.0.1' })).status, 'ok');
  t.match(server.version(telling({ redis_version: '5.0.14' })), {
    status: 'fail',
    found: 'Redis 5.0.14',
    advice: /6\.0\.0 or later/,
  });
  t.match(server.lastWrites(telling({ aof_last_write_status: 'err' })), { status: 'fail', found: /refuses writes/ });
  t.equal(server.lastWrites(telling({ aof_last_bgrewrite_status: 'err' })).status, 'warn');
});

t.test('why a Redis cannot be reached', async (t) => {
  const place = { address: 'redis.example:6379', secure: false, named: false };
  const said = (code: string, message = ''): string =>
    troubleOf(Object.assign(new Error(message), { code }), place).found;
  t.equal(said('ENOTFOUND'), 'The host name of redis.example:6379 cannot be resolved.');
  t.equal(said('EHOSTUNREACH'), 'redis.example:6379 cannot be reached (EHOSTUNREACH).');
  t.equal(said('ECONNRESET'), 'redis.example:6379 closes the connection at once.');
  t.equal(
    said('CERT_HAS_EXPIRED'),
    'redis.example:6379 shows a certificate that is not trusted here (CERT_HAS_EXPIRED).',
  );
  t.equal(
    said('', 'ERR unknown command `HELLO`, with args beginning with: `3`'),
    'redis.example:6379 is older than Redis 6.0.',
  );
  t.equal(said('', 'DENIED Redis is running in protected mode'), 'redis.example:6379 is in protected mode.');
  t.equal(said('', 'ERR max number of clients reached'), 'redis.example:6379 has reached its limit of connections.');
  t.equal(said('', 'ERR odd'), 'redis.example:6379: ERR odd');
});

t.test('a step that does not compile', { skip: whyNoRedis() ?? false }, async (t) => {
  const { url } = await redis(t);
  const clock = new WheelClock();
  const node = await Node.open(url, { address: 'here', user: 'default' }, clock);
  t.teardown(async () => {
    node.close();
    clock.stop();
  });
  t.equal((await server.scriptsLoad(node, loadScripts())).status, 'ok');
  const broken = loadScripts((source, name) => (name === 'count-slots' ? `${source} (` : source));
  t.match(await server.scriptsLoad(node, broken), {
    status: 'fail',
    found: /^1 of \d+ do not load, count-slots: ERR Error compiling script/,
  });
});
