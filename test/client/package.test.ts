/** The package as it is published: its size, its files, and that it works where it is installed. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { transform } from 'esbuild';
import t from 'tap';
import { probePort } from '../../src/operations/supervisor/port.ts';
import { openHouse } from '../api/house.ts';
import { synthetic } from '../api/talk.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { startServer } from '../process.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'dist', 'client');
const read = (name: string): Promise<string> => readFile(join(built, name), 'utf8');

/** An empty project with the package's tarball unpacked where an installation would put it. */
async function installed(t: Owner): Promise<string> {
  const folder = await temporaryFolder(t);
  const { stdout } = await run('npm', ['pack', built, '--json', '--pack-destination', folder], { cwd: folder });
  const target = join(folder, 'node_modules', 'parley-client');
  await mkdir(target, { recursive: true });
  await run('tar', ['-xzf', join(folder, JSON.parse(stdout)[0].filename), '--strip-components=1', '-C', target]);
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return folder;
}

/** Returns the modules that loading a module loads, itself included. */
async function loaded(name: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, other] of (await read(name)).matchAll(/\b(?:from|import)\s?"\.\/([^"]+)"/g)) await loaded(other!, seen);
  return seen;
}

const zipped = (code: string): number => gzipSync(code, { level: 9 }).length;

t.test(
  'the main entry is at most 8.75 KB gzipped in an application that is minified, with all that it loads; 10.75 KB as it is',
  async (t) => {
    let [asItIs, minified] = [0, 0];
    for (const name of await loaded('index.js')) {
      const code = await read(name);
      asItIs += zipped(code);
      minified += zipped((await transform(code, { minify: true, format: 'esm', target: 'es2022' })).code);
    }
    t.ok(minified <= 8960, `${minified} bytes minified`);
    t.ok(asItIs <= 11_008, `${asItIs} bytes as it is`);
  },
);

t.test(
  'classes and functions have their names in stack traces, and an uncaught error prints a short line of code',
  async (t) => {
    for (const entry of ['index', 'call', 'conversation']) {
      const exported: Record<string, unknown> = await import(join(built, `${entry}.js`));
      for (const [name, value] of Object.entries(exported))
        if (typeof value === 'function') t.equal(value.name, name, entry);
    }
    for (const name of (await readdir(built)).filter((name) => name.endsWith('.js'))) {
      const longest = Math.max(...(await read(name)).split('\n').map((line) => line.length));
      t.ok(longest <= 600, `${name} has a line of ${longest} characters`);
    }
    const folder = await installed(t);
    const uncaught = (from: string): string => `
import { Parley } from '${from}';
const answer = () => Response.json({ error: { type: 'authentication_error', code: 'invalid_api_key', message: 'Invalid API key.' } }, { status: 401 });
await new Parley({ url: 'http://127.0.0.1', key: 'ak_1', fetch: async () => answer() }).sessions.get('ses_1');
`;
    const printed = async (code: string): Promise<string> => {
      await writeFile(join(folder, 'uncaught.mjs'), code);
      return spawnSync(process.execPath, ['uncaught.mjs'], { cwd: folder, encoding: 'utf8' }).stderr;
    };
    const stack = await printed(uncaught('parley-client'));
    t.match(stack, /^ParleyError: Invalid API key\.$/m);
    t.match(stack, /at failureOf \(/);
    t.match(stack, /at (async )?Requester\./);

    await writeFile(
      join(folder, 'minified.mjs'),
      (await transform(await read('index.js'), { minify: true, format: 'esm' })).code,
    );
    t.match(
      await printed(uncaught('./minified.mjs')),
      /^ParleyError: Invalid API key\.$/m,
      'also in an application that is minified',
    );
  },
);

t.test('it has no dependencies, and its entries import nothing', async (t) => {
  const about = JSON.parse(await read('package.json'));
  t.match(about, { name: 'parley-client', type: 'module', license: 'Apache-2.0', sideEffects: false });
  t.notOk('dependencies' in about || 'peerDependencies' in about);
  for (const entry of Object.values(about.exports).filter((entry) => typeof entry === 'object') as {
    default: string;
    types: string;
  }[]) {
    for (const name of await loaded(entry.default.slice(2)))
      t.notMatch(await read(name), /\bfrom\s?"[^."]|\bimport\s?"[^."]|require\(/, name);
    await read(entry.types);
  }
  const names = await readdir(built);
  t.ok(['LICENSE', 'LICENSE-eventsource-parser', 'README.md'].every((name) => names.includes(name)));
  for (const name of names.filter((name) => name.endsWith('.d.ts')))
    t.notMatch(await read(name), /typebox|eventsource-parser|node:|\.ts'/, name);
});

t.test('each document names our package to install', async (t) => {
  for (const text of [await read('README.md'), await readFile(join(root, 'README.md'), 'utf8')])
    t.notMatch(text, /npm (i|install|add) parley\b/);
});

t.test("the README's example runs as it stands where the tarball is installed, and its types hold", async (t) => {
  const folder = await installed(t);
  const example = /```js\n([\s\S]*?)```/.exec(await read('README.md'))![1]!;
  const lines = example.split('\n').filter((line) => line.trim() !== '').length;
  t.ok(lines <= 22, `${lines} lines`);
  await writeFile(join(folder, 'example.mjs'), example);
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  const { stdout, stderr } = await run(process.execPath, ['example.mjs'], {
    cwd: folder,
    env: { ...process.env, PARLEY_URL: server.url, PARLEY_API_KEY: server.key! },
  });
  t.equal(stderr, '');
  t.match(stdout, /\nuser completed\nassistant completed\nuser completed\nassistant completed\n$/);

  const strict = {
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    noEmit: true,
    module: 'nodenext',
    target: 'es2022',
    lib: ['es2022', 'dom'],
    types: [],
  };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, files: ['use.ts'] }));
  await writeFile(join(folder, 'use.ts'), use);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const checked = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  t.equal(checked.stdout, '');
});

/** Events of an answer of the backend; `take` says when enough have come, and leaves the rest. */
async function eventsFrom(
  response: Response,
  take: (event: any) => boolean = () => false,
): Promise<{ id: number; event: any }[]> {
  const events: { id: number; event: any }[] = [];
  let text = '';
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    const pieces = (text + String(bytes)).split('\n\n');
    text = pieces.pop()!;
    for (const piece of pieces) {
      const [, id, data] = /^id: (\d+)\ndata: (.*)$/.exec(piece) ?? [];
      events.push({ id: Number(id), event: JSON.parse(data!) });
    }
    if (events.some(({ event }) => take(event))) break;
  }
  return events;
}

const textOf = (events: readonly { event: any }[]): string => events.map(({ event }) => event.text ?? '').join('');

t.test("the README's backend streams a turn through, resumes it and aborts it from another request", async (t) => {
  const house = await openHouse(t);
  await synthetic(house, 'tokens=400,delay_ms=20');
  const folder = await installed(t);
  const [, example] = /```js\n([^`]*createServer[\s\S]*?)```/.exec(await read('README.md'))!;
  await writeFile(join(folder, 'backend.mjs'), example!);
  const port = await probePort('127.0.0.1', 0);
  const env = { ...process.env, PARLEY_URL: house.url, PARLEY_API_KEY: house.key, PORT: String(port) };
  const backend = spawn(process.execPath, ['backend.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => backend.kill());
  await once(backend.stdout, 'data');

  const url = `http://127.0.0.1:${port}/chat`;
  const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ message: 'Hello' }) });
  t.match(Object.fromEntries(answer.headers), { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
  const begun = await eventsFrom(answer, ({ type }) => type === 'message.delta');
  const { turn_id } = begun[0]!.event;
  const seen = begun.at(-1)!.id;
  t.match([begun[0]!.event.type, seen], ['turn.started', [...textOf(begun)].length], 'the first reader leaves');

  const more = await fetch(`${url}?turn=${turn_id}&after=${seen}`);
  const rest = eventsFrom(more);
  t.equal((await fetch(`${url}?turn=${turn_id}`, { method: 'DELETE' })).status, 204);
  const last = await rest;
  t.match(last.at(-1)!.event, { type: 'turn.aborted' });
  const whole = await eventsFrom(await fetch(`${url}?turn=${turn_id}`));
  t.equal(textOf(begun) + textOf(last), textOf(whole), 'each character once');
  const again = await fetch(`${url}?turn=${turn_id}`, { headers: { 'last-event-id': String(seen) } });
  t.equal(textOf(await eventsFrom(again)), textOf(last), 'an EventSource names the last event in a header');
  t.match(
    [(await fetch(`${url}?turn=turn_none`, { method: 'DELETE' })).status, (await fetch(`${url}s`)).status],
    [404, 404],
  );
});

/** The methods of the client that are its user's, as they are called. */
async function callsOfClient(): Promise<string[]> {
  const { Parley }: any = await import(join(built, 'index.js'));
  const parley = new Parley({ url: 'http://127.0.0.1', key: 'ak_1' });
  const methodsOf = (value: object, prefix: string): string[] => {
    const described = Object.entries(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(value)));
    return described
      .filter(([name, { value }]) => name !== 'constructor' && typeof value === 'function')
      .map(([name]) => `${prefix}.${name}`);
  };
  const resources = Object.entries(parley).flatMap(([name, resource]) =>
    methodsOf(resource as object, `parley.${name}`),
  );
  return [...methodsOf(parley, 'parley'), ...resources].sort();
}

t.test('the README has a row for every call, and for none that is not there', async (t) => {
  const section = (await read('README.md')).split('## Every call\n')[1]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...row.split(' | ')[0]!.matchAll(/parley\.[\w.]+(?=\()/g)].map(([name]) => name),
  );
  t.same(named.sort(), await callsOfClient());
});

/** Code that a user's compiler must accept, and code that it must reject. */
const use = `
import { Parley, ParleyError, RateLimitError, TurnFailedError, type ErrorCode, type TurnEvent, type Session } from 'parley-client';
import { microphone } from 'parley-client/microphone';
const parley = new Parley({ url: 'https://chat.example.com', key: 'ak_1', fetch, onRetry: ({ attempt, waitMs, error }) => void [attempt + waitMs, error.code] });
const session: Session = await parley.sessions.create({ assistant_id: 'asst_1', visitor: { age: 36 } });
const turn = await parley.sessions.chat(session.id, 'Hello', { signal: new AbortController().signal, timeoutMs: 5 });
for await (const event of turn) {
  const one: TurnEvent = event;
  if (one.type === 'message.delta') one.text.length;
  // @ts-expect-error: only a delta has text
  else one.text;
}
const cursor: number | null = turn.cursor;
for await (const message of parley.sessions.transcript(session.id, { order: 'desc' })) message.content.length;
const page = await parley.assistants.list().page({ after: 'asst_1' });
const next: string | null = page.next_cursor;
const { contentType, sampleRate } = await parley.speech({ assistant_id: 'asst_1', text: 'Hello', format: 'opus', speed: 1.5 });
const voices: string[] = (await parley.voices({ assistant_id: 'asst_1' })).data.map(({ name }) => name);
for await (const voice of parley.voices({ assistant_id: 'asst_1', limit: 5 })) voice.sample_rate + sampleRate + contentType.length;
const source = await microphone({ deviceId: 'default', echoCancellation: false });
const { sampleRate: sample_rate, encoding } = source;
const transcription = new Parley({ url: 'https://chat.example.com', WebSocket }).transcribe({ assistant_id: 'asst_1', sample_rate, encoding }, { timeoutMs: 5 });
for await (const frame of source) await transcription.send(frame);
for await (const message of transcription) {
  if (message.type === 'transcript.partial') message.text.slice(0, message.stable);
  // @ts-expect-error: an error is thrown
  if (message.type === 'error') break;
}
function told(error: unknown): string {
  if (error instanceof RateLimitError) return String(error.retryAfterSeconds + 1);
  if (error instanceof TurnFailedError) return error.partial;
  if (!(error instanceof ParleyError)) throw error;
  // @ts-expect-error: the union is closed
  if (error.code === 'no_such_code') return '';
  const code: ErrorCode | null = error.code;
  return \`\${code} \${error.type} \${error.status} \${error.requestId} \${error.field} \${error.retryable}\`;
}
export { cursor, next, told };
`;
