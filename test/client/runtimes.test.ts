/**
 * The built package where it is said to run, at a real server. Node is asked each time; Bun, Deno and workerd, each a
 * program of 100 MB, with PARLEY_RUNTIMES=1, when they are installed from their packages and kept; Chromium with it
 * where it is installed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { openHouse } from '../api/house.ts';
import { synthetic } from '../api/talk.ts';
import { temporaryFolder } from '../folders.ts';
import { freePort } from '../../bench/harness/process.ts';
import { installedAside } from './aside.ts';
import { Faulty } from './faulty.ts';

const built = fileURLToPath(new URL('../../dist/client/index.js', import.meta.url));
const wanted = process.env['PARLEY_RUNTIMES'] === '1';
// The voice processes end with their server.
const house = await openHouse(t, { workersAlone: true });
const way = await Faulty.open(t, house.url);
const { id: assistantId } = await synthetic(house, 'tokens=30,delay_ms=2', { channels: { voice: true } });

/**
 * The run on each runtime: a session, a reply over a cut, an error, an end by a signal, and a transcription of spoken
 * output. It returns its observations.
 */
const smoke = `
import { Parley, ParleyError } from './parley-client.js';
export async function smoke(url, key, assistant_id, options) {
  const parley = new Parley({ url, key, ...options });
  const session = await parley.sessions.create({ assistant_id });
  const turn = await parley.sessions.chat(session.id, 'Hello');
  let text = '';
  let ends = 0;
  for await (const event of turn) {
    if (event.type === 'message.delta') text += event.text;
    if (event.type === 'turn.completed') ends++;
  }
  const { content } = (await parley.sessions.transcript(session.id).all())[1];
  const error = await parley.sessions.get('ses_none').catch((thrown) => thrown);
  const left = await parley.sessions.get(session.id, { signal: AbortSignal.abort('left') }).catch((reason) => reason);
  return { whole: text === content && text.length > 50, ends, code: error instanceof ParleyError && error.code, left };
}
export async function voice(url, key, assistant_id, options) {
  const parley = new Parley({ url, key, ...options });
  const speech = await parley.speech({ assistant_id, text: 'Hello there.', format: 'pcm' });
  const transcription = parley.transcribe({ assistant_id, sample_rate: speech.sampleRate });
  for await (const bytes of speech) await transcription.send(bytes);
  await transcription.finish();
  let heard = '';
  let last;
  for await (const message of transcription) {
    last = message.type;
    if (message.type === 'transcript.final') heard += message.text;
  }
  const refused = await Array.fromAsync(parley.transcribe({ assistant_id: 'asst_none' })).catch((thrown) => thrown.code);
  return { heard: heard.toLowerCase().includes('hello'), last, refused };
}
// Node 20 has none.
Array.fromAsync ??= async (items) => {
  const all = [];
  for await (const item of items) all.push(item);
  return all;
};
`;
const seen = { whole: true, ends: 1, code: 'session_not_found', left: 'left' };
const spoken = { heard: true, last: 'done', refused: 'assistant_not_found' };

/** The files that the entry loads when they are wanted. */
const parts = async (): Promise<string[]> =>
  (await readdir(dirname(built))).filter((name) => /-[A-Z\d]{8}\.js$/.test(name));

/** A folder with the package and the script, and a main module that prints the script's result. */
async function prepared(t: Test): Promise<string> {
  const folder = await temporaryFolder(t);
  await copyFile(built, join(folder, 'parley-client.js'));
  for (const name of await parts()) await copyFile(join(dirname(built), name), join(folder, name));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await writeFile(join(folder, 'smoke.js'), smoke);
  await writeFile(
    join(folder, 'main.js'),
    `import { smoke, voice } from './smoke.js';\nconsole.log(JSON.stringify(${calls()}));\n`,
  );
  way.fault = (line) => (line.endsWith('/chat') ? { kind: 'cut body', bytes: 400 } : null);
  return folder;
}

/** The faults happen on the way; sockets go straight to the server. */
function calls(): string {
  const [faulty, straight, key, assistant] = [way.url, house.url, house.key, assistantId].map((value) =>
    JSON.stringify(value),
  );
  return `{ ...(await smoke(${faulty}, ${key}, ${assistant})), ...(await voice(${straight}, ${key}, ${assistant})) }`;
}

const resumed = (): boolean => way.asked.some(({ line }) => line.endsWith('/events'));

async function runs(t: Test, program: string, args: readonly string[]): Promise<void> {
  const folder = await prepared(t);
  way.asked.length = 0;
  const child = spawn(program, [...args, 'main.js'], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (more: string) => (stdout += more));
  child.stderr.setEncoding('utf8').on('data', (more: string) => (stderr += more));
  const [code] = await once(child, 'close');
  t.equal(code, 0, stderr);
  t.match(JSON.parse(stdout || 'null'), { ...seen, ...spoken });
  t.ok(resumed(), 'the cut stream was resumed');
}

t.test('the client runs on Node', (t) => runs(t, process.execPath, []));

/** Returns the reason why a runtime takes no part, or the path of its program. */
async function programOf(
  name: string,
  version: string,
  path: string,
): Promise<{ why: string | false; program: string }> {
  if (!wanted) return { why: 'asked for with PARLEY_RUNTIMES=1', program: '' };
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { why: 'its package is for another system', program: '' };
  const { why, folder } = await installedAside(name, version);
  return { why: why ?? false, program: join(folder, path) };
}

const bun = await programOf('@oven/bun-linux-x64', '1.4.5', 'bin/bun');
t.test('the client runs on Bun', { skip: bun.why }, (t) => runs(t, bun.program, ['run']));

const deno = await programOf('@deno/linux-x64-glibc', '2.9.6', 'deno');
t.test('the client runs on Deno', { skip: deno.why }, (t) =>
  runs(t, deno.program, ['run', '--no-lock', '--allow-net', '--allow-env']),
);

const workerd = await programOf('@cloudflare/workerd-linux-64', '1.20261117.1', 'bin/workerd');
t.test('the client runs on workerd', { skip: workerd.why }, async (t) => {
  const folder = await prepared(t);
  way.asked.length = 0;
  const port = await freePort();
  await writeFile(
    join(folder, 'worker.js'),
    `import { smoke, voice } from './smoke.js';\nexport default { fetch: async () => Response.json(${calls()}) };\n`,
  );
  await writeFile(join(folder, 'worker.capnp'), worker(port, ['smoke.js', 'parley-client.js', ...(await parts())]));
  const child = spawn(workerd.program, ['serve', 'worker.capnp'], { cwd: folder, stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  let answer: Response | null = null;
  while (answer === null && child.exitCode === null) {
    answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => null);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const text = (await answer?.text()) ?? '';
  t.match(text.startsWith('{') ? JSON.parse(text) : text, { ...seen, ...spoken });
  t.ok(resumed());
});

const worker = (port: number, modules: readonly string[]): string => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [
        (name = "worker.js", esModule = embed "worker.js"),
${modules.map((name) => `        (name = "${name}", esModule = embed "${name}"),`).join('\n')}
      ],
      compatibilityDate = "2026-06-01",
    )),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`;

const chromium = ['chromium', 'chromium-browser', 'google-chrome'].find(
  (name) => spawnSync(name, ['--version']).status === 0,
);
const whyNoChromium = !wanted
  ? 'asked for with PARLEY_RUNTIMES=1'
  : chromium === undefined
    ? 'chromium is not installed'
    : false;

t.test('the client runs in Chromium', { skip: whyNoChromium }, async (t) => {
  const folder = await prepared(t);
  way.asked.length = 0;
  // A page and the API on one origin, since the API's paths have no CORS.
  let tell: (text: string) => void = () => {};
  const told = new Promise<string>((resolve) => (tell = resolve));
  const page = createServer((request, response) => {
    const path = request.url!;
    if (path === '/told') {
      let text = '';
      request
        .setEncoding('utf8')
        .on('data', (more: string) => (text += more))
        .on('end', () => (tell(text), response.end()));
    } else if (path === '/' || path.endsWith('.js')) {
      response.setHeader('content-type', path === '/' ? 'text/html' : 'text/javascript');
      void (path === '/' ? Promise.resolve(html) : readFile(join(folder, path))).then((body) => response.end(body));
    } else {
      void fetchOnward(request, response);
    }
  });
  page.listen(0, '127.0.0.1');
  await once(page, 'listening');
  t.teardown(() => page.close());
  const child = spawn(
    chromium!,
    [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      `--user-data-dir=${join(folder, 'profile')}`,
      `http://127.0.0.1:${(page.address() as AddressInfo).port}/`,
    ],
    { stdio: 'ignore' },
  );
  t.teardown(() => child.kill('SIGKILL'));
  t.match(JSON.parse(await told), { ...seen, keyThrows: true });
  t.ok(resumed());
});

/** A key in a page throws unless it may be there. */
const html = `<script type="module">
import { smoke } from './smoke.js';
import { Parley } from './parley-client.js';
let keyThrows = false;
try { new Parley({ url: location.origin, key: 'ak_1' }); } catch { keyThrows = true; }
const saw = await smoke(location.origin, ${JSON.stringify(house.key)}, ${JSON.stringify(assistantId)}, { allowKeyInBrowser: true }).catch((error) => ({ error: String(error) }));
await fetch('/told', { method: 'POST', body: JSON.stringify({ ...saw, keyThrows }) });
</script>`;

async function fetchOnward(
  request: import('node:http').IncomingMessage,
  response: import('node:http').ServerResponse,
): Promise<void> {
  const { request: ask } = await import('node:http');
  const onward = ask(way.url + request.url!, { method: request.method, headers: request.headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response).on('error', () => {});
    answer.on('error', () => response.destroy());
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
}
