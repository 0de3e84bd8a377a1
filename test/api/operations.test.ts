/** Running it: logs, metrics, health, settings (contract 11). */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { readConfig, SettingError } from '../../src/base/config.ts';
import { randomIds } from '../../src/base/ids.ts';
import { turnFaults } from '../../src/metrics/metrics.ts';
import { readSecrets } from '../../src/operations/secrets.ts';
import { temporaryFolder } from '../folders.ts';
import { startServer } from '../process.ts';
import { patient } from '../run/speed.mjs';
import { edge, edges, openHouse, openWorkspace, type House } from './house.ts';
import { beginsAtZero } from './samples.ts';
import { abort, begin, credentialOf, onProvider, say, sayInVain, synthetic } from './talk.ts';

const secrets = [
  'CANARY-message',
  'CANARY-system-prompt',
  'canary-secret',
  'canary-of-the-provider',
  'CANARY-visitor',
  'CANARY-metadata',
];

t.test(`${edge}: one line of JSON for every request, and no secret in any`, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'info', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const ids = await busy(t, house);
  t.same(await house.stop(), { code: 0, signal: null });
  const lines = house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const known = (one: any) => typeof one.status === 'number';
  for (const [id, { status, route }] of ids) {
    const own = lines.filter((line) => line.request_id === id && known(line));
    t.equal(own.length, 1, `one line for ${route} ${status}`);
    t.match(own[0], { status, route, method: String, duration_ms: Number });
  }
  t.equal(new Set(lines.filter(known).map(({ request_id }) => request_id)).size, lines.filter(known).length);
  const all =
    house
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .join('\n') + house.stderr();
  for (const secret of [...secrets, house.operatorToken, house.key.slice(-20)])
    t.notOk(all.includes(secret), `${secret.slice(0, 8)}… is not in the log`);
});

/** Makes traffic of all kinds; returns the request ids with the fields to be logged for them. */
async function busy(t: Test, house: House): Promise<Map<string, { status: number; route: string | null }>> {
  const ids = new Map<string, { status: number; route: string | null }>();
  const note = (answer: { headers: Headers; status: number }, route: string | null) =>
    ids.set(answer.headers.get('x-request-id')!, { status: answer.status, route });
  const chat = '/sessions/{id}/chat';
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: 'tokens=2', system_prompt: 'CANARY-system-prompt' },
    greeting: 'CANARY-message',
  });
  const session = await house.session(assistant.id, {
    visitor: { name: 'CANARY-visitor' },
    metadata: { note: 'CANARY-metadata' },
  });
  const stream = await say(house, session.id, 'CANARY-message');
  await stream.rest();
  note(stream, chat);
  note(await house.ask(`/sessions/${session.id}/transcript`), '/sessions/{id}/transcript');
  note(await house.ask('/nowhere/CANARY-message'), null);
  note(await house.ask('/assistants', { key: 'ak_canary-secret' }), '/assistants');
  note(await house.ask(`/sessions/${session.id}/chat`, { body: '{"message":"CANARY-message' }), chat);
  note(
    await house.ask('/sessions', { body: { assistant_id: assistant.id, metadata: { 'CANARY-metadata': 7 } } }),
    '/sessions',
  );
  const failing = { error: { message: 'canary-of-the-provider' } };
  const { assistant: broken } = await onProvider(
    t,
    house,
    (response) => void response.writeHead(401).end(JSON.stringify(failing)),
  );
  note(await sayInVain(house, (await house.session(broken.id)).id, 'CANARY-message'), chat);
  note(await house.console('/workspaces'), '/console/api/workspaces');
  note(await house.ask('/healthz', { key: null }), '/healthz');
  const left = await begin(house, (await synthetic(house, 'tokens=3,hang_at=1')).id);
  note(left.stream, chat);
  left.stream.leave();
  note(await abort(house, left.id, left.stream.turnId), '/sessions/{id}/turns/{turn_id}/abort');
  return ids;
}

t.test('paths that need no key', async (t) => {
  const house = await openWorkspace();
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
    ['/openapi.json', 200],
    ['/asyncapi.json', 200],
  ] as const) {
    const answer = await house.ask(path, { key: null });
    t.equal(answer.status, status, path);
    t.notOk(answer.headers.has('x-ratelimit-limit'), 'no budget is charged');
  }
  t.same((await house.ask('/healthz', { key: null })).json, { status: 'ok' });
});

t.test("metrics in Prometheus' format", async (t) => {
  const house = await openHouse(t);
  beginsAtZero(t, (await house.ask('/metrics', { key: null })).text);
  const assistant = await synthetic(house, 'tokens=2');
  await (await begin(house, assistant.id)).stream.rest();
  await sayInVain(house, (await house.session((await synthetic(house, 'tokens=2,fail_at=0')).id)).id);
  const { key } = await house.newKey({ limits: { requests: 1 } });
  for (let request = 0; request < 3; request++) await house.ask('/assistants', { key });
  const slow = await synthetic(house, 'tokens=3,hang_at=1');
  const hanging = await begin(house, slow.id);
  await house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 1 } });
  await sayInVain(house, (await house.session(slow.id)).id);

  const { text, headers } = await house.ask('/metrics', { key: null });
  t.match(headers.get('content-type'), /^text\/plain/);
  for (const sample of [
    'parley_http_requests_total{route="/sessions/{id}/chat",status="200"} 1',
    'parley_http_requests_total{route="/sessions/{id}/chat",status="503"} 1',
    'parley_http_requests_total{route="/assistants",status="429"} 2',
    'parley_turns_in_flight 1',
    'parley_turns_total{outcome="completed"} 1',
    ...turnFaults.map((reason) => `parley_turn_faults_total{reason="${reason}"} 0`),
    'parley_turns_total{outcome="withdrawn"} 1',
    'parley_limited_total{budget="requests"} 2',
    'parley_limited_total{budget="turns"} 1',
    'parley_actors{kind="session"} 4',
    'parley_actors{kind="workspace"} 1',
    'parley_first_output_seconds_count 2',
  ])
    t.ok(text.includes(`\n${sample}\n`), sample);
  t.match(text, /^parley_stream_events_total [5-9]$/m);
  t.match(text, /^parley_store_seconds_count\{step="beginTurn"\} 3$/m);
  t.match(text, /^# TYPE parley_store_errors_total counter$/m);
  t.match(text, /^parley_store_outages_total 0$/m);
  t.match(text, /^parley_store_away_seconds 0$/m);
  t.match(text, /^parley_event_loop_lag_seconds \d/m);
  await abort(house, hanging.id, hanging.stream.turnId);
  t.ok((await house.ask('/metrics', { key: null })).text.includes('\nparley_turns_in_flight 0\n'));
});

t.test('a turn that fails for a fault of ours leaves a line with its cause, and is counted', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'info', PARLEY_TURN_MS_MAX: String(patient(300)) } });
  const slow = await synthetic(house, 'tokens=3,hang_at=1');
  const { id, stream } = await begin(house, slow.id);
  t.equal((await stream.rest()).at(-1)!.event, 'error');
  const { text } = await house.ask('/metrics', { key: null });
  t.ok(text.includes('\nparley_turn_faults_total{reason="time_limit"} 1\n'));
  await house.stop();
  const lines = house
    .stdout()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line));
  const faults = lines.filter(({ msg }) => msg === 'A turn failed for a fault of the server.');
  t.match(faults, [
    {
      level: 'error',
      request_id: stream.headers.get('x-request-id'),
      session_id: id,
      turn_id: stream.turnId,
      reason: 'time_limit',
    },
  ]);
  t.equal(faults.length, 1);
});

/** Starts a server that cannot start; resolves with its exit code and output. */
async function failure(
  t: Test,
  env: Record<string, string>,
  options: { args?: string[]; folder?: string } = {},
): Promise<string> {
  return startServer(t, { env, ...options }).then(
    () => 'it started',
    (error: Error) => error.message,
  );
}

t.test('a wrong setting is one line that names it, and exit 2', async (t) => {
  const wrong: Record<string, string> = {
    PORT: 'eighty',
    PARLEY_STORE: 'sqlite:x',
    PARLEY_SECRET: 'short-CANARY',
    PARLEY_OPERATOR_TOKEN: 'spaced CANARY',
    PARLEY_EDGE: 'nginx',
    PARLEY_TRUSTED_PROXIES: '10.0.0.0/64',
    PARLEY_ALLOW_PRIVATE_PROVIDERS: 'perhaps',
    PARLEY_DURABILITY: 'eternal',
    PARLEY_LOG: 'loud',
    PARLEY_ALLOW_VOLATILE: 'perhaps',
    PARLEY_CONSOLE_ORIGIN: 'https://console.example/path',
  };
  for (const [variable, value] of Object.entries(wrong)) {
    const said = refusalOf(() => readConfig({ [variable]: value }));
    t.match(said, new RegExp(`^[^\\n]*\\b${variable}\\b[^\\n]*$`), variable);
    t.notMatch(said, 'CANARY', 'a secret is not repeated');
  }
  t.match(
    refusalOf(() => readConfig({ PARLEY_SECRET: '\u{1f511}'.repeat(31) })),
    'PARLEY_SECRET',
    'characters are code points',
  );
  t.match(
    refusalOf(() => readConfig({ PARLEY_OPERATOR_TOKEN: 'c'.repeat(23) })),
    'PARLEY_OPERATOR_TOKEN must have at least 24 characters',
    'a token that can be guessed',
  );
  const text = await failure(t, { PARLEY_SECRET: 'short-CANARY' });
  t.match(text, /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_SECRET\b[^\n]*\n$/);
  t.notMatch(text, 'CANARY');
  t.match(
    await failure(t, {}, { args: ['--port', '99999'] }),
    /with 2 .*\n[^\n]*PORT[^\n]*\n$/,
    'a flag is a setting too',
  );
  t.match(await failure(t, {}, { args: ['--nonsense', '1'] }), /with 2 /);
});

t.test('an operator token kept in the data folder is as long as one that is set', async (t) => {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  for (const kept of ['', 'CANARY-short-by-one-xxx']) {
    await writeFile(join(folder, 'data', 'operator-token'), `${kept}\n`, { mode: 0o600 });
    const said = secretsRefusal(folder);
    t.match(said, /^PARLEY_OPERATOR_TOKEN[^\n]*operator-token[^\n]*$/);
    t.notMatch(said, 'CANARY');
  }
  await writeFile(join(folder, 'data', 'operator-token'), 'exactly-24-characters-ok\n', { mode: 0o600 });
  const server = await startServer(t, { folder, env: { PARLEY_OPERATOR_TOKEN: '' } });
  const headers = { authorization: 'Bearer exactly-24-characters-ok' };
  t.equal((await fetch(`${server.url}/console/api/workspaces`, { headers })).status, 200);
});

t.test('a secret kept in the data folder is as long as one that is set, and is a file', async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, 'data', 'secret');
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  for (const kept of ['', 'CANARY\n', `CANARY${'\u{1f511}'.repeat(25)}\n`]) {
    await writeFile(path, kept, { mode: 0o600 });
    const said = secretsRefusal(folder);
    t.match(
      said,
      /^PARLEY_SECRET must have at least 32 characters, and the file secret in the data folder has fewer[^\n]*$/,
    );
    t.notMatch(said, 'CANARY');
  }
  await rm(path);
  for (const [variable, name] of [
    ['PARLEY_SECRET', 'secret'],
    ['PARLEY_OPERATOR_TOKEN', 'operator-token'],
  ] as const) {
    await rm(join(folder, 'data', name), { force: true });
    await mkdir(join(folder, 'data', name));
    t.equal(secretsRefusal(folder), `${variable} is not set, and ${name} in the data folder cannot be read (EISDIR).`);
    await rm(join(folder, 'data', name), { recursive: true });
  }
  await writeFile(path, 'CANARY\n', { mode: 0o600 });
  t.match(
    await failure(t, {}, { folder }),
    /with 2 .*\n[^\n]*PARLEY_SECRET must have at least 32 characters, and the file secret [^\n]*\n$/,
  );
  await writeFile(path, `${'\u{1f511}'.repeat(32)}\n`, { mode: 0o600 });
  const server = await startServer(t, { folder });
  t.same(await server.stop(), { code: 0, signal: null });
});

/** The reason why a server does not start with these settings and secrets; empty if it may. */
const settingsRefusal = (env: Record<string, string>): string =>
  refusalOf(() => readSecrets(readConfig(env), randomIds(new WheelClock())));

/** The same for the secrets that are kept in the data folder. */
const secretsRefusal = (folder: string): string => settingsRefusal({ PARLEY_STORE: `lmdb:${join(folder, 'data')}` });

t.test('Redis wants the secrets given, a durability that it has, and its password kept', async (t) => {
  const redis = 'redis://user:CANARY@127.0.0.1:1';
  const secret = 'a-secret-of-the-tests-that-is-long-enough';
  const said = [
    settingsRefusal({ PARLEY_STORE: redis, PARLEY_OPERATOR_TOKEN: secret }),
    settingsRefusal({ PARLEY_STORE: redis, PARLEY_SECRET: secret }),
    settingsRefusal({ PARLEY_STORE: redis, PARLEY_SECRET: secret, PARLEY_DURABILITY: 'flushed' }),
    settingsRefusal({ PARLEY_DURABILITY: 'replicated' }),
    settingsRefusal({ PARLEY_STORE: 'redis://user:CANARY/x@ 1' }),
  ];
  for (const [index, variable] of [
    'PARLEY_SECRET',
    'PARLEY_OPERATOR_TOKEN',
    'PARLEY_DURABILITY',
    'PARLEY_DURABILITY',
    'PARLEY_STORE',
  ].entries()) {
    t.match(said[index], new RegExp(`^[^\\n]*\\b${variable}\\b[^\\n]*$`), variable);
  }
  const [lacking, away] = await Promise.all([
    failure(t, { PARLEY_STORE: redis }),
    failure(t, { PARLEY_STORE: redis, PARLEY_SECRET: secret }),
  ]);
  t.match(lacking, /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_SECRET\b[^\n]*\n$/);
  t.match(away, /with 1 before it listened\.\n[^\n]*Redis[^\n]*\n$/, 'one that is not there');
  t.notOk(
    [...said, lacking, away].some((text) => text.includes('CANARY')),
    'a password is not repeated',
  );
});

t.test('an address of Redis that cannot be used is refused before anything is connected', async (t) => {
  const wrong = [
    'redis://127.0.0.1:1/abc',
    'redis://127.0.0.1:1/0/1',
    'redis://127.0.0.1:1/-1',
    'redis://127.0.0.1:0',
    'redis://127.0.0.1:99999',
    'redis://user:CANARY%@127.0.0.1:1',
    'redis-cluster://host:abc',
    'redis-cluster://127.0.0.1:99999',
    'redis-cluster://127.0.0.1:1,127.0.0.1:0',
    'rediss-cluster://user:CANARY%zz@127.0.0.1:1',
    'redis-cluster://a,,b',
  ];
  for (const value of wrong) {
    const said = refusalOf(() => readConfig({ PARLEY_STORE: value }));
    t.match(said, /^PARLEY_STORE must [^\n]*\.$/, value);
    t.notMatch(said, 'CANARY', value);
  }
  const right = [
    'redis://host',
    'redis://host/',
    'redis://user:p%40ss@host:6379/0',
    'rediss://:pass@host:6380/15',
    'redis://[::1]:6379',
    'redis-cluster://host',
    'redis-cluster://a:7000,b:7001/',
    'rediss-cluster://user:p%40s/s@10.0.0.1:7000,[::1]:7001,c',
  ];
  for (const url of right) t.same(readConfig({ PARLEY_STORE: url }).store, { kind: 'redis', url }, url);
  const text = await failure(t, {
    PARLEY_STORE: 'redis-cluster://host:abc',
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
  });
  t.match(text, /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_STORE\b[^\n]*\n$/);
});

t.test(
  'a folder with the slashes of a URL is a wrong setting: it would be another folder than the one that is meant',
  async (t) => {
    for (const value of [
      'lmdb://data',
      'lmdb://./data',
      'lmdb://data/parley',
      'lmdb://localhost/data',
      'lmdb://',
      'lmdb:',
      'lmdb: ',
    ]) {
      const said = refusalOf(() => readConfig({ PARLEY_STORE: value }));
      t.match(said, /^PARLEY_STORE must be lmdb:FOLDER[^\n]*\.$/, value);
      t.match(said, `"${value}"`);
    }
    for (const folder of ['data', './data', '/var/lib/parley', '../data', '///var/lib/parley']) {
      t.same(readConfig({ PARLEY_STORE: `lmdb:${folder}` }).store, { kind: 'lmdb', folder }, folder);
    }
    const text = await failure(t, { PARLEY_STORE: 'lmdb://data' });
    t.match(text, /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_STORE\b[^\n]*\n$/);
  },
);

/** Returns the message of a rejected setting; empty if the settings are accepted. */
function refusalOf(run: () => unknown): string {
  try {
    run();
    return '';
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
}

t.test('a voice folder that is set is a folder that can be read', async (t) => {
  const folder = await temporaryFolder(t);
  const file = join(folder, 'file');
  await writeFile(file, '');
  const several = {
    PARLEY_STORE: 'redis://127.0.0.1:1',
    PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
    PARLEY_PROCESSES: '2',
  };
  const said = await Promise.all([
    failure(t, { PARLEY_VOICE_FOLDER: file }),
    failure(t, { PARLEY_VOICE_FOLDER: 'nope' }, { folder }),
    failure(t, { PARLEY_VOICE_FOLDER: file, ...several }),
  ]);
  for (const text of said)
    t.match(
      text,
      /^The server ended with 2 before it listened\.\n[^\n]*\bPARLEY_VOICE_FOLDER must be a folder that can be read: [^\n]*\n$/,
    );
  t.match(said[0], `${file} is not a folder.`);
  t.match(said[1], `${join(folder, 'nope')} cannot be read (ENOENT).`);
});

t.test('a port that is taken is one line and exit 2, a folder that is taken one line and exit 1', async (t) => {
  const holder = createServer().listen(0, '127.0.0.1');
  t.teardown(() => void holder.close());
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  for (const edge of edges) {
    const text = await failure(t, { PORT: String(port), PARLEY_STORE: 'memory:', PARLEY_EDGE: edge });
    t.match(text, new RegExp(`with 2 before it listened\\.\\n[^\\n]*PORT[^\\n]*${port}[^\\n]*\\n$`), edge);
  }
  const folder = await temporaryFolder(t);
  const first = await startServer(t, { folder });
  const text = await failure(t, {}, { folder });
  t.match(text, /with 1 before it listened\.\n[^\n]*in use by another process[^\n]*\n$/);
  t.equal((await fetch(`${first.url}/healthz`)).status, 200, 'the first one serves on');
});

t.test('a credential is stored encrypted', async (t) => {
  const house = await openHouse(t, {
    embedded: true,
    env: { PARLEY_STORE: 'lmdb:./data', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' },
  });
  await credentialOf(house, 'openai', 'http://127.0.0.1:9/v1', 'CANARY-credential-secret');
  await house.stop();
  const { readFile, readdir } = await import('node:fs/promises');
  const files = await readdir(`${house.folder}/data`);
  t.ok(files.length > 0);
  for (const file of files) {
    const bytes = await readFile(`${house.folder}/data/${file}`);
    t.notOk(bytes.includes('CANARY-credential-secret') || bytes.includes(house.key), file);
  }
});
