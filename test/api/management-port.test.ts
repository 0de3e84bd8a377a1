/** `PARLEY_MANAGEMENT_PORT`: health, readiness and metrics on a port apart from the API's. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { readConfig } from '../../src/base/config.ts';
import { probePort } from '../../src/operations/supervisor/port.ts';
import { startServer } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { edge, edges, openHouse, type House } from './house.ts';
import { rawAsk, refusedUpgrade } from './raw.ts';
import { lineOf, linesOf, openSupervised, streaming, workersUp } from './supervised.ts';
import { refused, until } from './talk.ts';

const skip = whyNoRedis() ?? false;

/** Address of the service paths; the house logs at `info`. */
async function serviceUrl(house: House): Promise<string> {
  const { port } = await lineOf(house, ({ msg }) => msg === 'management port listens');
  return `http://127.0.0.1:${port}`;
}

/** Checks on which port each path is, for one process or several. */
async function holds(t: Test, house: House, service: string): Promise<void> {
  for (const path of ['/healthz', '/readyz', '/metrics']) {
    const answer = await rawAsk(service, path);
    t.equal(answer.status, 200, path);
    t.match(answer.headers.get('x-request-id'), /^req_/);
    t.equal((await rawAsk(service, path, { method: 'HEAD' })).status, 200);
  }
  t.equal((await house.ask('/healthz', { key: null })).status, 200, 'who lives says so on both');
  for (const path of ['/readyz', '/metrics']) refused(t, await rawAsk(house.url, path), 404, 'route_not_found');
  t.same(
    Object.keys((await house.ask('/openapi.json')).json.paths).filter((path) =>
      /^\/(?:readyz|metrics|healthz)$/.test(path),
    ),
    ['/healthz'],
  );
  for (const path of ['/assistants', '/openapi.json', '/', '/metrics/'])
    refused(
      t,
      await rawAsk(service, path, { headers: { authorization: `Bearer ${house.key}` } }),
      404,
      'route_not_found',
    );
  refused(t, await rawAsk(service, '/readyz', { method: 'POST', body: '{}' }), 404, 'route_not_found');
  refused(
    t,
    await refusedUpgrade(service, '/console/api/inspect', { token: house.operatorToken }),
    404,
    'route_not_found',
  );
  const { text, headers } = await rawAsk(service, '/metrics');
  t.match(headers.get('content-type'), /^text\/plain; version=0\.0\.4/);
  t.match(text, /\nparley_http_requests_total\{route="\/readyz",status="200"\} 2\n/, 'what is asked there is counted');
  t.match(text, /\nparley_turns_in_flight 0\n/);
}

for (const edge of edges) {
  t.test(`${edge}: one process`, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge, PARLEY_LOG: 'info', PARLEY_MANAGEMENT_PORT: '0' } });
    const service = await serviceUrl(house);
    await holds(t, house, service);
    const { id, stream } = await streaming(t, house, 'tokens=100000,delay_ms=5');
    house.child.kill('SIGTERM');
    await until(async () => (await rawAsk(service, '/readyz')).status === 503);
    t.equal((await rawAsk(service, '/healthz')).status, 200, 'it answers while it drains');
    t.match((await rawAsk(service, '/metrics')).text, /\nparley_turns_in_flight 1\n/);
    await house.ask(`/sessions/${id}/end`, { method: 'POST' });
    t.ok(await stream.over);
    t.same(await house.ended, { code: 0, signal: null });
    t.equal(house.stderr(), '');
  });
}

t.test(`${edge}: several processes`, { skip }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openSupervised(t, redis.url, 2, { env: { PARLEY_MANAGEMENT_PORT: '0' } });
  const workers = await workersUp(house, 2);
  const service = await serviceUrl(house);
  await holds(t, house, service);

  process.kill(workers.get(2)!, 'SIGSTOP');
  t.equal((await rawAsk(service, '/readyz')).status, 200, 'one that is ready is enough');
  process.kill(workers.get(1)!, 'SIGSTOP');
  await until(async () => (await rawAsk(service, '/readyz')).status === 503);
  for (const pid of workers.values()) process.kill(pid, 'SIGCONT');
  await until(async () => (await rawAsk(service, '/readyz')).status === 200);

  const { id, stream } = await streaming(t, house, 'tokens=100000,delay_ms=5');
  house.child.kill('SIGTERM');
  await until(async () => (await rawAsk(service, '/readyz')).status === 503);
  t.match((await rawAsk(service, '/metrics')).text, /\nparley_turns_in_flight 1\n/, 'while workers drain');
  await house.ask(`/sessions/${id}/end`, { method: 'POST' }).catch(() => {});
  t.ok(await stream.over);
  t.same(await house.ended, { code: 0, signal: null });
  t.equal(house.stderr(), '');
});

/** Variables that Kubernetes sets in every pod beside a service named `parley` with the port 8080. */
const injected = {
  PARLEY_SERVICE_HOST: '10.96.0.10',
  PARLEY_SERVICE_PORT: '8080',
  PARLEY_SERVICE_PORT_HTTP: '8080',
  PARLEY_PORT: 'tcp://10.96.0.10:8080',
  PARLEY_PORT_8080_TCP: 'tcp://10.96.0.10:8080',
  PARLEY_PORT_8080_TCP_PROTO: 'tcp',
  PARLEY_PORT_8080_TCP_PORT: '8080',
  PARLEY_PORT_8080_TCP_ADDR: '10.96.0.10',
  // A service named `parley-management`.
  PARLEY_MANAGEMENT_PORT: 'tcp://10.96.0.11:9090',
  PARLEY_MANAGEMENT_SERVICE_HOST: '10.96.0.11',
  PARLEY_MANAGEMENT_SERVICE_PORT: '9090',
};
const ignored = ['PARLEY_PORT', 'PARLEY_SERVICE_PORT', 'PARLEY_MANAGEMENT_PORT'];

t.test(
  'variables that Kubernetes sets for a service named parley open no port, end no server, and are one log line',
  async (t) => {
    // Free, so that a server which took it for a setting would listen there.
    const house = await openHouse(t, {
      env: { ...injected, PORT: '0', PARLEY_SERVICE_PORT: String(await probePort('127.0.0.1', 0)), PARLEY_LOG: 'info' },
    });
    t.equal((await rawAsk(house.url, '/readyz')).status, 200, 'the public port has it, as without a management port');
    await lineOf(house, ({ route }) => route === '/readyz');
    t.same(
      linesOf(house)
        .filter(({ level }) => level === 'warn')
        .map(({ variables }) => variables),
      [ignored],
    );
    t.same(
      linesOf(house).filter(({ msg }) => msg === 'management port listens'),
      [],
    );
    t.match(readConfig({ ...injected, PORT: '8080' }), { port: 8080, managementPort: null });
    t.same(readConfig({ PARLEY_MANAGEMENT_PORT: '9090', PARLEY_SERVICE_HOST: '10.96.0.10' }).ignoredVariables, []);
    for (const address of ['udp://10.0.0.1:53', 'sctp://[fd00::1]:9', 'TCP://10.0.0.1:80'])
      t.equal(readConfig({ PARLEY_MANAGEMENT_PORT: address }).managementPort, null, address);
  },
);

t.test('several processes log that line once', { skip }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const house = await openSupervised(t, redis.url, 2, { env: injected });
  await workersUp(house, 2);
  t.same(
    linesOf(house)
      .filter(({ variables }) => variables !== undefined)
      .map(({ variables, worker }) => [variables, worker]),
    [[ignored, undefined]],
  );
});

/** Resolves with the message of a server that cannot start. */
const failure = (t: Test, env: Record<string, string>): Promise<string> =>
  startServer(t, { env: { PARLEY_STORE: 'memory:', ...env } }).then(
    () => 'it started',
    (error: Error) => error.message,
  );

t.test('a port that cannot be is one line that names the setting, and exit 2', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.teardown(() => void holder.close());
  await once(holder, 'listening');
  const taken = String((holder.address() as AddressInfo).port);
  const several = {
    PARLEY_STORE: 'redis://127.0.0.1:1',
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_PROCESSES: '2',
  };
  for (const env of [
    { PARLEY_MANAGEMENT_PORT: 'eighty' },
    { PARLEY_MANAGEMENT_PORT: '70000' },
    { PARLEY_MANAGEMENT_PORT: '8080', PORT: '' },
    { PARLEY_MANAGEMENT_PORT: taken, PORT: taken },
  ]) {
    t.throws(() => readConfig(env), { message: /^[^\n]*\bPARLEY_MANAGEMENT_PORT\b[^\n]*$/ }, JSON.stringify(env));
  }
  const wrong: Record<string, string>[] = [
    { PARLEY_MANAGEMENT_PORT: '70000' },
    ...edges.map((edge) => ({ PARLEY_MANAGEMENT_PORT: taken, PARLEY_EDGE: edge })),
    { PARLEY_MANAGEMENT_PORT: taken, ...several },
  ];
  for (const env of wrong) {
    const text = (await failure(t, { PARLEY_LOG: 'silent', ...env })).replace(/\n  parley listens on[^]*\n\n/, '');
    t.match(
      text,
      /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_MANAGEMENT_PORT\b[^\n]*\n$/,
      JSON.stringify(env),
    );
  }
});
