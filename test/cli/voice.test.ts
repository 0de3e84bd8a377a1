/** `parley speak`, `listen` and `voices`, at a real server. */
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { WebSocketServer } from 'ws';
import { partialLine } from '../../src/cli/heard.ts';
import { installedPlayer, play } from '../../src/cli/player.ts';
import type { Speech } from '../../src/client/speech.ts';
import { exactWav, readWav } from '../../src/providers/voice/audio/wav.ts';
import { openHouse } from '../api/house.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import { assistant, list, run, sendJson, start } from './support.ts';

// The voice processes end with their server.
const house = await openHouse(t, { workersAlone: true });
const folder = await temporaryFolder(t);
const inFolder = (name: string): string => join(folder, name);
const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
const command = fileURLToPath(new URL('../../src/install/start.mjs', import.meta.url));

/** Runs the command with bytes in and out. */
function piped(args: readonly string[], input: Uint8Array = new Uint8Array(0)): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [command, ...args],
      { encoding: 'buffer', env: { ...process.env, ...env } },
      (error, stdout) => (error ? reject(error) : resolve(stdout)),
    );
    child.stdin!.end(input);
  });
}

const keys = async (): Promise<{ name: string; status: string }[]> =>
  (await house.console(`/workspaces/${house.workspaceId}/keys`)).json.data;

t.test('what the first start prints is spoken by the assistant that it made, and heard', async (t) => {
  const [, args] = /npx parley (speak [^\n]*)/.exec(house.stdout())!;
  t.equal(args, `speak "Hello there" --url ${house.url}`);
  const audio = await piped(['speak', 'Hello there']);
  t.equal(audio.toString('latin1', 0, 4), 'RIFF');
  await writeFile(inFolder('a.wav'), audio);
  t.match(await run(['listen', inFolder('a.wav')], { env }), { code: 0, stdout: /^Hello[^\n]*\n$/i, stderr: '' });
  t.match((await piped(['listen'], audio)).toString(), /^Hello[^\n]*\n$/i);
  const made = (await keys()).filter(({ name }) => /^parley (speak|listen)$/.test(name));
  t.ok(
    made.length >= 3 && made.every(({ status }) => status === 'revoked'),
    'each had a key of its own, which is revoked',
  );
});

t.test('the text from stdin, the format from the name of the file, and a key that is given', async (t) => {
  const before = (await keys()).length;
  const given = { ...env, PARLEY_API_KEY: house.key };
  t.strictSame(await run(['speak', '--out', inFolder('b.mp3')], { env: given, input: 'Hello there.\n' }), {
    code: 0,
    stdout: '',
    stderr: '',
  });
  const mp3 = await readFile(inFolder('b.mp3'));
  t.ok(mp3[0] === 0xff && mp3.length > 2000, `${mp3.length} bytes`);
  t.match(await run(['speak', 'Hello', '--out', inFolder('none'), '--voice', 'none'], { env: given }), {
    code: 1,
    stderr: /^parley: The assistant has no such voice: see `parley voices`\. \(invalid_request, request req_\w+\)\n$/,
  });
  await t.rejects(access(inFolder('none')), 'a refusal leaves no file');
  t.strictSame(await run(['speak', 'Hello', '--out', '/proc/not/there.wav'], { env: given }), {
    code: 1,
    stdout: '',
    stderr: 'parley: The file /proc/not/there.wav cannot be written (ENOENT).\n',
  });
  t.match(await run(['speak'], { env: given, input: ' \n' }), { code: 2, stderr: /^parley: Give the text/ });
  t.match(await run(['speak', 'Hello', '--format', 'flac'], { env: given }), { code: 2 });
  t.equal((await keys()).length, before);
});

t.test('every message as a line, of a WAV at a rate that no transcription takes', async (t) => {
  const { samples, sampleRate } = readWav(await readFile(inFolder('a.wav')));
  const fast = Int16Array.from({ length: samples.length * 6 }, (_, at) => samples[Math.floor(at / 6)]!);
  await writeFile(inFolder('fast.wav'), exactWav(fast, sampleRate * 6));
  const { code, stdout } = await run(['listen', '--json', inFolder('fast.wav')], { env });
  t.equal(code, 0);
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(messages[0], { type: 'ready', sample_rate: 16_000 });
  t.match(messages.at(-1), { type: 'done' });
  t.match(
    messages.find(({ type }) => type === 'transcript.final'),
    { utterance: 1, text: /hello/i },
  );
});

t.test('listen refuses audio that cannot be transcribed', async (t) => {
  await writeFile(inFolder('silence.wav'), exactWav(new Int16Array(8000), 16_000));
  t.strictSame(await run(['listen', inFolder('silence.wav')], { env }), {
    code: 0,
    stdout: '',
    stderr: 'The audio contains no speech.\n',
  });
  const [mp3, none] = [inFolder('b.mp3'), inFolder('none.wav')];
  t.strictSame(await run(['listen', mp3], { env }), {
    code: 1,
    stdout: '',
    stderr: `parley: ${mp3} cannot be read: The audio is no WAV.\n`,
  });
  t.strictSame(await run(['listen', none], { env }), {
    code: 1,
    stdout: '',
    stderr: `parley: The file ${none} cannot be read (ENOENT).\n`,
  });
});

t.test('`parley voices` lists the voices of a provider', async (t) => {
  t.match((await run(['voices'], { env })).stdout, /^ID +NAME +LANGUAGE +HERTZ\nslt +Slt, .* en-US +16000\n/);
  t.match((await run(['voices', '--limit', '1'], { env })).stdout, /There are more: add --after 1\n$/);
  t.match(JSON.parse((await run(['voices', '--json'], { env })).stdout), {
    object: 'list',
    data: [{ id: 'slt', object: 'voice' }],
  });
});

t.test('Ctrl-C leaves in order', async (t) => {
  await writeFile(inFolder('long.wav'), exactWav(new Int16Array(16_000 * 60), 16_000));
  const running = start(t, ['listen', '--json', inFolder('long.wav')], { env });
  await running.printed('"audio.received"');
  running.kill('SIGINT');
  t.match(await running.finished, { code: 1, stderr: /"message":"Interrupted\."/ });
  t.notOk((await keys()).some(({ name, status }) => name === 'parley listen' && status !== 'revoked'));
});

t.test('speak uses the named assistant, else the only one with a voice, else demo', async (t) => {
  const workspace = await house.console('/workspaces', { body: { name: 'other' } });
  const assistants = `/workspaces/${workspace.json.id}/assistants`;
  const add = async (name: string, voice: boolean): Promise<void> => {
    const { json } = await house.console(assistants, { body: { name, channels: { voice } } });
    await house.console(`${assistants}/${json.id}/publish`, { method: 'POST' });
  };
  const speak = (...more: string[]) =>
    run(['speak', 'Hello', '--workspace', 'other', '--out', inFolder('c.wav'), ...more], { env });
  await add('silent', false);
  t.match(await speak(), { code: 2, stderr: /^parley: No published assistant has voice on\./ });
  t.match(await speak('--assistant', 'silent'), { code: 1, stderr: /\(voice_disabled, request req_/ });
  await add('one', true);
  t.match(await speak(), { code: 0, stderr: '' });
  await add('two', true);
  t.match(await speak(), { code: 2, stderr: 'parley: Choose an assistant with --assistant: two, one.\n' });
  t.match(await speak('--assistant', 'two'), { code: 0, stderr: '' });
});

/**
 * A server whose assistant speaks, and whose socket sends these messages to every client; the environment that
 * leads to it.
 */
async function hearing(t: Owner, ...messages: readonly object[]): Promise<Record<string, string>> {
  const http = createServer((request, response) => {
    if (request.method === 'GET')
      sendJson(response, 200, list({ ...assistant, channels: { ...assistant.channels, voice: true } }));
    else sendJson(response, 201, { object: 'transcription_token', token: 'tok_1', url: '', expires_at: 0 });
  });
  new WebSocketServer({ server: http }).on('connection', (socket) => {
    for (const message of messages) socket.send(JSON.stringify(message));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  t.teardown(async () => {
    http.closeAllConnections();
    http.close();
  });
  return { PARLEY_URL: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, PARLEY_API_KEY: 'ak_given' };
}

t.test('an error of the socket ends it with its code and exit code 1', async (t) => {
  const said = 'Voice is not available at the moment.';
  const there = await hearing(t, { type: 'error', code: 'voice_unavailable', message: said });
  t.strictSame(await run(['listen', inFolder('a.wav')], { env: there }), {
    code: 1,
    stdout: '',
    stderr: `parley: ${said} (voice_unavailable)\n`,
  });
  const { code, stderr } = await run(['listen', '--json', inFolder('a.wav')], { env: there });
  t.equal(code, 1);
  t.same(JSON.parse(stderr), {
    error: { type: 'service_unavailable', code: 'voice_unavailable', message: said },
    request_id: null,
  });
});

t.test('in a terminal the words under way make room for those that stay', async (t) => {
  const partial = { type: 'transcript.partial', utterance: 1, text: 'Hello the', stable: 5 };
  const env = await hearing(
    t,
    { type: 'ready', sample_rate: 16_000 },
    partial,
    { type: 'transcript.final', utterance: 1, text: 'Hello there.' },
    { type: 'done' },
  );
  const shown = '\r\u001b[KHello\u001b[2m the\u001b[22m\r\u001b[KHello there.\n';
  t.strictSame(await run(['listen', inFolder('a.wav')], { env, terminal: true }), {
    code: 0,
    stdout: shown,
    stderr: '',
  });
  t.strictSame(
    await run(['listen', inFolder('a.wav')], { env }),
    { code: 0, stdout: 'Hello there.\n', stderr: '' },
    'and elsewhere do not show',
  );
});

const whyNoTerminal =
  spawnSync('script', ['--version']).status === 0 && process.platform === 'linux'
    ? false
    : 'there is no `script` to make a terminal with';

/** Runs the command in a terminal whose path has only these programs. */
async function inTerminal(args: string, path: string): Promise<{ status: number | null; stdout: string }> {
  const { PARLEY_URL, PARLEY_OPERATOR_TOKEN } = env;
  return new Promise((resolve) => {
    const line = `PATH='${path}' exec '${process.execPath}' '${command}' ${args}`;
    const child = execFile(
      'script',
      ['-qec', line, '/dev/null'],
      { env: { PATH: process.env['PATH'], SHELL: '/bin/sh', PARLEY_URL, PARLEY_OPERATOR_TOKEN } },
      (_error, stdout) => resolve({ status: child.exitCode, stdout }),
    );
    child.stdin!.end();
  });
}

t.test('`parley speak` refuses to write sound to a terminal', { skip: whyNoTerminal }, async (t) => {
  const path = await temporaryFolder(t);
  const without = await inTerminal("speak 'Hello there'", path);
  t.equal(without.status, 2);
  t.match(without.stdout, /^parley: Audio is not for a terminal, and no player is installed/);
  await program(join(path, 'ffplay'), `exec /bin/cat > '${join(path, 'played')}'`);
  t.same(await inTerminal("speak 'Hello there'", path), { status: 0, stdout: '' });
  t.equal((await readFile(join(path, 'played'))).toString('latin1', 0, 4), 'RIFF');
});

async function program(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}

t.test('the first player of the path; one that reads no stdin is given a file, which is removed', async (t) => {
  const path = await temporaryFolder(t);
  t.equal(installedPlayer({ PATH: path }), null);
  t.equal(installedPlayer({}), null);
  await program(join(path, 'paplay'), '');
  t.match(installedPlayer({ PATH: `:/none:${path}` }), { program: 'paplay', reads: false });
  await program(join(path, 'aplay'), `/bin/cat "$2" > '${join(path, 'played')}'; echo "$2" > '${join(path, 'name')}'`);
  const player = installedPlayer({ PATH: path })!;
  t.equal(player.program, 'aplay');

  const speech = {
    bytes: async () => Buffer.from('audio'),
    [Symbol.asyncIterator]: async function* () {
      yield Buffer.alloc(1_000_000);
    },
  } as unknown as Speech;
  const { signal } = new AbortController();
  await play({ ...player, program: join(path, 'aplay') }, speech, signal);
  t.equal(await readFile(join(path, 'played'), 'utf8'), 'audio');
  await t.rejects(access((await readFile(join(path, 'name'), 'utf8')).trim()));

  await program(join(path, 'ffplay'), 'exit 1');
  await t.rejects(
    play({ program: join(path, 'ffplay'), args: [], reads: true }, speech, signal),
    /could not play it/,
    'which leaves without reading',
  );
  await t.rejects(play({ program: join(path, 'gone'), args: [], reads: true }, speech, signal), /could not play it/);
});

t.test('a partial shows its end; words that may change are dim', async (t) => {
  t.equal(partialLine('one two', 3, 80), 'one\u001b[2m two\u001b[22m');
  t.equal(partialLine('one two', 7, 80), 'one two');
  t.equal(partialLine('one two', 3, 5), 'e\u001b[2m two\u001b[22m');
  t.equal(partialLine('one two', 1, 3), '\u001b[2mtwo\u001b[22m');
  t.equal(partialLine('\u{1f600}\u001b[31m\n', 0, 80), '\u001b[2m\u{1f600} [31m \u001b[22m');
});
