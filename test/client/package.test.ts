/** The package as it is published: its size, its files, and that it works where it is installed. */
import { execFile, spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import t from 'tap';
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

t.test('the main entry is at most 8.25 KB gzipped, with all that it loads', async (t) => {
  let bytes = 0;
  for (const name of await loaded('index.js')) bytes += gzipSync(await read(name), { level: 9 }).length;
  t.ok(bytes <= 8448, `${bytes} bytes`);
});

t.test('it has no dependencies, and its entries import nothing', async (t) => {
  const about = JSON.parse(await read('package.json'));
  t.match(about, { name: 'parley-client', type: 'module', license: 'Apache-2.0', sideEffects: false });
  t.notOk('dependencies' in about || 'peerDependencies' in about);
  for (const entry of Object.values(about.exports).filter((entry) => typeof entry === 'object') as { default: string; types: string }[]) {
    for (const name of await loaded(entry.default.slice(2))) t.notMatch(await read(name), /\bfrom\s?"[^."]|\bimport\s?"[^."]|require\(/, name);
    await read(entry.types);
  }
  const names = await readdir(built);
  t.ok(['LICENSE', 'LICENSE-eventsource-parser', 'README.md'].every((name) => names.includes(name)));
  for (const name of names.filter((name) => name.endsWith('.d.ts'))) t.notMatch(await read(name), /typebox|eventsource-parser|node:|\.ts'/, name);
});

t.test('nothing says to install the package whose name is not ours', async (t) => {
  for (const text of [await read('README.md'), await readFile(join(root, 'README.md'), 'utf8')]) t.notMatch(text, /npm (i|install|add) parley\b/);
});

t.test("the README's example runs as it stands where the tarball is installed, and its types hold", async (t) => {
  const folder = await installed(t);
  const example = /```js\n([\s\S]*?)```/.exec(await read('README.md'))![1]!;
  const lines = example.split('\n').filter((line) => line.trim() !== '').length;
  t.ok(lines <= 22, `${lines} lines`);
  await writeFile(join(folder, 'example.mjs'), example);
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  const { stdout, stderr } = await run(process.execPath, ['example.mjs'], { cwd: folder, env: { ...process.env, PARLEY_URL: server.url, PARLEY_API_KEY: server.key! } });
  t.equal(stderr, '');
  t.match(stdout, /\nuser completed\nassistant completed\nuser completed\nassistant completed\n$/);

  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true, module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom'], types: [] };
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: strict, files: ['use.ts'] }));
  await writeFile(join(folder, 'use.ts'), use);
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const checked = spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' });
  t.equal(checked.stdout, '');
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
