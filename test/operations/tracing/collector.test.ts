/** A collector that is away, slow or refusing costs spans and nothing else; packages that are missing end the start. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, symlink } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../../folders.ts';
import { openHouse, type House } from '../../api/house.ts';
import { begin, synthetic, until } from '../../api/talk.ts';
import { patient } from '../../run/speed.mjs';
import { openCollector } from './collector.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** A collector that accepts connections, and answers none. */
async function openSilent(t: Test): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The spans by their ends, as the metrics have them. */
async function countsOf(house: House): Promise<Record<string, number>> {
  const { text } = await house.ask('/metrics', { key: null });
  return Object.fromEntries(
    [...text.matchAll(/^parley_spans_total\{outcome="(\w+)"\} (\d+)$/gm)].map(([, outcome, count]) => [
      outcome!,
      Number(count),
    ]),
  );
}

/** Runs turns, and checks each answer. */
async function turns(t: Test, house: House, count: number): Promise<void> {
  const assistant = await synthetic(house, 'tokens=3');
  const statuses = new Set<string>();
  for (let left = count; left > 0; left--) {
    const events = await (await begin(house, assistant.id)).stream.rest();
    statuses.add(events.at(-1)!.event);
  }
  t.same([...statuses], ['turn.completed']);
}

/** The bound of the last spans at the end of a process, and what a process takes to end besides. */
const endsWithinMs = 2000 + patient(10_000);

const collectors: Readonly<Record<string, (t: Test) => Promise<string>>> = {
  'that is away': async (t) => {
    const { url } = await openCollector(t);
    const free = new URL(url);
    free.port = '1';
    return free.origin;
  },
  'that never answers': openSilent,
  'that refuses': async (t) => {
    const { url } = await openCollector(t, (_, response) => response.writeHead(400).end('no'));
    return url;
  },
  'that is overloaded': async (t) => {
    const { url } = await openCollector(t, (_, response) => response.writeHead(503, { 'retry-after': '3600' }).end());
    return url;
  },
};

for (const [what, open] of Object.entries(collectors))
  t.test(`a collector ${what} changes no answer, and its spans are bounded and counted`, async (t) => {
    const url = await open(t);
    const env = {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${url}/v1/traces`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_BSP_MAX_QUEUE_SIZE: '16',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8',
    };
    const house = await openHouse(t, { env });
    await turns(t, house, 20);
    const counts = await until(async () => {
      const all = await countsOf(house);
      return (all['refused']! > 0 || all['dropped']! > 0) && all;
    });
    t.equal(counts['exported'], 0);
    const from = performance.now();
    t.same(await house.stop(), { code: 0, signal: null });
    t.ok(performance.now() - from < endsWithinMs, 'it holds the end of the process within the bound');
    t.ok(house.stdout().split('The collector of traces takes no spans.').length <= 2, 'the log says so once at most');
  });

t.test('spans that wait at SIGTERM are exported before the process ends', async (t) => {
  const collector = await openCollector(t);
  const house = await openHouse(t, { env: { ...collector.env, OTEL_BSP_SCHEDULE_DELAY: '3600000' } });
  await turns(t, house, 2);
  t.equal(collector.spans.length, 0);
  t.same(await house.stop(), { code: 0, signal: null });
  t.equal(collector.spans.filter(({ name }) => name.startsWith('invoke_agent')).length, 2);
});

t.test('a collector that comes back gets the spans from then on', async (t) => {
  let refusing = true;
  const collector = await openCollector(t, (_, response) => response.writeHead(refusing ? 400 : 200).end());
  const house = await openHouse(t, { env: { ...collector.env, PARLEY_LOG: 'info' } });
  await turns(t, house, 1);
  await until(async () => (await countsOf(house))['refused']! > 0);
  refusing = false;
  await turns(t, house, 1);
  await until(async () => (await countsOf(house))['exported']! > 0);
  // Log lines wait for company.
  const lines = await until(() => house.stdout().includes('takes spans again.') && house.stdout());
  t.match(lines, /The collector of traces takes no spans\./);
  t.match(lines, /"trace_id":"[0-9a-f]{32}"/, 'the line of a request has its trace');
});

/** Loaded before the server: prints the names of OpenTelemetry's modules that are loaded once it is asked to end. */
const listing = `data:text/javascript,${encodeURIComponent(
  "import Module from 'node:module'; process.on('exit', () => process.stderr.write(JSON.stringify(Object.keys(Module._cache).filter((path) => path.includes('@opentelemetry')))));",
)}`;

t.test('a server without a collector loads none of the packages and no request has a trace', async (t) => {
  const off: Record<string, string>[] = [
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_SDK_DISABLED: 'true' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', OTEL_TRACES_EXPORTER: 'none' },
  ];
  for (const env of off) {
    const house = await openHouse(t, { env: { ...env, PARLEY_LOG: 'info', NODE_OPTIONS: `--import=${listing}` } });
    await turns(t, house, 1);
    t.same(await countsOf(house), { exported: 0, refused: 0, dropped: 0 });
    await house.stop();
    const paths = JSON.parse(/\[.*\]$/.exec(house.stderr())![0]) as string[];
    // The metrics' package has OpenTelemetry's interface for exemplars.
    t.same(
      paths.filter((path) => !path.includes('@opentelemetry/api/')),
      [],
    );
    t.notMatch(house.stdout(), /trace_id/);
  }
});

interface Start {
  readonly code: number | null;
  readonly stderr: string;
}

/** Starts a server that is to end by itself. */
async function startOf(env: Record<string, string>, command: string): Promise<Start> {
  const child = spawn(process.execPath, [command, 'serve'], {
    env: { PATH: process.env['PATH'], PORT: '0', PARLEY_STORE: 'memory:', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}

const built = join(root, 'dist', 'parley.mjs');

t.test('a wrong endpoint and another protocol are one line and exit code 2', async (t) => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
  const cases: [Record<string, string>, RegExp][] = [
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'localhost:4317' }, /OTEL_EXPORTER_OTLP_ENDPOINT must be http:/],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://' }, /OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be http:/],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'ftp://me:secret@host' }, /not "ftp:\/\/…@host"/],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /OTEL_EXPORTER_OTLP_PROTOCOL must be http\/protobuf/],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }, /TRACES_PROTOCOL must be http\/protobuf/],
  ];
  for (const [env, line] of cases) {
    const { code, stderr } = await startOf(env, built);
    t.equal(code, 2);
    t.match(stderr, line);
    t.equal(stderr.trimEnd().split('\n').length, 1);
  }
});

t.test(
  'missing packages are one line and exit code 2 while a collector is set, and no matter without one',
  async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'node_modules'));
    await symlink(join(root, 'dist'), join(folder, 'dist'));
    for (const name of await readdir(join(root, 'node_modules')))
      if (name !== '@opentelemetry')
        await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name));
    await mkdir(join(folder, 'node_modules', '@opentelemetry'));
    await symlink(
      join(root, 'node_modules', '@opentelemetry', 'api'),
      join(folder, 'node_modules', '@opentelemetry', 'api'),
    );
    const preserving = { NODE_OPTIONS: '--preserve-symlinks --preserve-symlinks-main' };
    const command = join(folder, 'dist', 'parley.mjs');
    const starts: Record<string, string>[] = [{}, { PARLEY_PROCESSES: '2', PARLEY_STORE: 'redis://127.0.0.1:1' }];
    for (const more of starts) {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...preserving, ...more };
      const { code, stderr } = await startOf(env, command);
      t.equal(code, 2);
      t.match(stderr, /OTEL_EXPORTER_OTLP_ENDPOINT needs the package @opentelemetry\/exporter-trace-otlp-proto/);
      t.equal(stderr.trimEnd().split('\n').length, 1);
    }
    const house = await openHouse(t, { command, env: preserving });
    t.equal((await house.ask('/assistants')).status, 200);
  },
);
