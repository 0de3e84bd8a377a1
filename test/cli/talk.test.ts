/** `parley talk`, at a real server, with microphones and loudspeakers that are scripts. */
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { PassThrough } from 'node:stream';
import { join } from 'node:path';
import t from 'tap';
import type { Call, CallEvent } from '../../src/client/call.ts';
import { softSound } from '../../src/client/thinking.ts';
import { keys } from '../../src/cli/talk-run.ts';
import { TalkText } from '../../src/cli/talk-view.ts';
import type { Io } from '../../src/cli/io.ts';
import { exactWav } from '../../src/providers/voice/audio/wav.ts';
import { clipOf } from '../api/caller.ts';
import { openHouse } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import { temporaryFolder } from '../folders.ts';
import { run, start } from './support.ts';

const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });
const clip = await clipOf(house);
const folder = await temporaryFolder(t);
const file = join(folder, 'clip.wav');
await writeFile(
  file,
  exactWav(new Int16Array(clip.buffer.slice(clip.byteOffset, clip.byteOffset + clip.length)), 16_000),
);
const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken, PATH: '' };

/** Publishes an assistant that hears these texts. */
async function talker(name: string, texts: string, model: string, more: object = {}): Promise<void> {
  const voice = { provider: 'synthetic', name: 'character_ms=20', transcription_name: `texts=${texts}` };
  await house.assistant({
    name,
    channels: { voice: true },
    model: { provider: 'synthetic', name: model },
    voice,
    ...more,
  });
}

async function program(name: string, script: string): Promise<void> {
  await writeFile(join(folder, name), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, name), 0o755);
}

const lines =
  /^polite> Good day\.\nyou> hello there\npolite> word word word word  \d+ ms\nyou> and goodbye\npolite> word word word word  \d+ ms\n$/;

t.test('files are said one after the other, each with its reply and its time', async (t) => {
  await talker('polite', 'hello_there|and_goodbye', 'tokens=4', { greeting: 'Good day.' });
  const { code, stdout, stderr } = await run(
    ['talk', '--voice', '--assistant', 'polite', '--from', file, '--from', file],
    { env },
  );
  t.equal(stderr, '');
  t.match(stdout, lines);
  t.equal(code, 0);
  const [session] = (await house.ask('/sessions?limit=1')).json.data;
  t.equal(session.status, 'ended');
  t.match(await transcriptOf(house, session.id), [
    { content: 'Good day.' },
    { content: 'hello there' },
    { voice: { heard: 'played' } },
    { content: 'and goodbye' },
    {},
  ]);
});

t.test('as events, of a session that goes on', async (t) => {
  const [{ assistant_id }] = (await house.ask('/sessions?limit=1')).json.data;
  const session = (await house.ask('/sessions', { body: { assistant_id } })).json;
  const { code, stdout } = await run(['talk', '--session', session.id, '--from', file, '--json'], { env });
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.match(events[0], { type: 'ready', session_id: session.id });
  t.match(events.at(-1), { type: 'closed', reason: 'hangup', error: null });
  t.ok(events.some(({ type }) => type === 'turn.completed'));
  t.equal(code, 0);
  t.equal((await house.ask(`/sessions/${session.id}`)).json.status, 'open');
});

t.test('a file whose sizes were never written, as one that came through a pipe, is said to its end', async (t) => {
  await talker('piped', 'hello_there', 'tokens=4');
  const piped = await readFile(file);
  piped.writeUInt32LE(0, 4);
  piped.writeUInt32LE(0, 40);
  await writeFile(join(folder, 'piped.wav'), piped);
  const { code, stdout } = await run(['talk', '--assistant', 'piped', '--from', join(folder, 'piped.wav')], { env });
  t.match(stdout, /^you> hello there\npiped> word word word word /);
  t.equal(code, 0);
});

t.test('refusals before a call', async (t) => {
  t.match(await run(['talk'], { env }), {
    code: 2,
    stderr:
      /^parley: No recording program is installed \(arecord, rec, parecord or ffmpeg\)\. Send a file instead: --from hello\.wav\.\n$/,
  });
  await program('arecord', 'exec /bin/cat');
  t.match(await run(['talk'], { env: { ...env, PATH: folder } }), {
    code: 2,
    stderr: /^parley: Nothing to play with is installed \(ffplay, aplay, play or paplay\)\.\n$/,
  });
  t.match(await run(['talk', '--session', 'ses_1', '--assistant', 'polite', '--from', file], { env }), { code: 2 });
  t.match(await run(['talk', '--voice', 'rms', '--assistant', 'polite', '--from', file], { env }), {
    code: 2,
    stderr: /^parley: A call speaks with the voice of its assistant.*parley assistants update polite --voice-id rms/,
  });
  t.match(await run(['talk', '--from', join(folder, 'none.wav')], { env }), {
    code: 1,
    stderr: /cannot be read \(ENOENT\)/,
  });
  for (const [name, samples] of [
    ['empty.wav', 0],
    ['short.wav', 100],
  ] as const) {
    await writeFile(join(folder, name), exactWav(new Int16Array(samples), 16_000));
    const { code, stderr } = await run(['talk', '--assistant', 'polite', '--from', join(folder, name)], { env });
    if (samples === 0)
      t.match({ code, stderr }, { code: 1, stderr: /^parley: .*empty\.wav cannot be read: The WAV has no audio\.\n$/ });
    else t.equal(code, 0, name);
  }
  await talker('curious', 'hello', 'tokens=4', {
    visitor_fields: [{ name: 'email', label: 'E-mail', type: 'email', required: true }],
  });
  t.match(await run(['talk', '--assistant', 'curious', '--from', file], { env }), {
    code: 2,
    stderr: /--visitor email=…/,
  });
});

/** Says what is in the file, at its pace, and then nothing. */
const microphone = `
import { readFileSync } from 'node:fs';
let said = readFileSync(new URL('said', import.meta.url));
setInterval(() => {
  process.stdout.write(said.length >= 640 ? said.subarray(0, 640) : Buffer.alloc(640));
  said = said.subarray(640);
}, 20);
`;

t.test('a microphone and a loudspeaker, until Ctrl-C; a long thought has a soft sound', async (t) => {
  await talker('slow', 'hello_there', 'tokens=4,first_ms=2600', { greeting: 'Good day.' });
  await writeFile(join(folder, 'said'), clip);
  await writeFile(join(folder, 'microphone.mjs'), microphone);
  await program('arecord', `exec '${process.execPath}' '${join(folder, 'microphone.mjs')}'`);
  await program('aplay', `exec /bin/cat > '${join(folder, 'played')}'`);
  const talking = start(t, ['talk', '--assistant', 'slow', '--headphones', '--keep'], {
    env: { ...env, PATH: folder },
  });
  await talking.printed(' ms\n');
  talking.kill('SIGINT');
  const { code, stdout, stderr } = await talking.finished;
  t.match(stdout, /^slow> Good day\.\n(.*\n)*slow> word word word word  \d+ ms\n$/);
  t.match(stderr, /^The session stays open; continue it with --session ses_\w+\n$/);
  t.equal(code, 0);
  const played = await readFile(join(folder, 'played'));
  t.ok(played.length > 19 * 20 * 32);
  t.ok(played.includes(Buffer.from(softSound(16_000).subarray(0, 3_200))));
});

t.test('a microphone that is not there', async (t) => {
  await program('arecord', 'echo "no such card" >&2; exit 1');
  const talking = start(t, ['talk', '--assistant', 'polite'], { env: { ...env, PATH: folder } });
  t.match(await talking.finished, { code: 1, stderr: /parley: arecord could not record: no such card\n/ });
});

t.test('the keys of a call cut a reply and hang up', (t) => {
  let raw: boolean | null = null;
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (on: boolean) => (raw = on) });
  const done: string[] = [];
  const live = {
    state: 'speaking',
    interrupt: () => done.push('interrupt'),
    hangUp: async () => void done.push('hang up'),
  };
  const release = keys(
    { stdin, exit: (code: number) => done.push(`exit ${code}`) } as unknown as Io,
    live as unknown as Call,
  );
  t.equal(raw, true);
  stdin.emit('data', Buffer.from('x '));
  stdin.emit('data', Buffer.from('\u0003'));
  live.state = 'closed';
  stdin.emit('data', Buffer.from('\u0003'));
  t.same(done, ['interrupt', 'hang up', 'exit 1', 'hang up']);
  release();
  t.equal(raw, false);
  stdin.emit('data', ' ');
  t.equal(done.length, 4);
  t.end();
});

t.test('a line for each side: words under way, a cut, a turn taken back', (t) => {
  const [out, err] = [[] as string[], [] as string[]];
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns: 40 }).on('data', (text) =>
    out.push(String(text)),
  );
  const stderr = new PassThrough().on('data', (text) => err.push(String(text)));
  const view = new TalkText({ stdout, stderr } as unknown as Io, 'demo');
  const events: readonly object[] = [
    { type: 'transcript.partial', text: 'tell me', stable: 4 },
    { type: 'turn.started', text: 'Tell me\u001b[31m', spoken: true },
    { type: 'answered', voice_to_voice_ms: 510 },
    { type: 'message.delta', message_id: 'msg_1', text: 'Once\nupon' },
    { type: 'turn.aborted' },
    { type: 'turn.withdrawn' },
    { type: 'turn.started', text: 'Typed', spoken: false },
    { type: 'message.delta', message_id: 'msg_2', text: 'So' },
    { type: 'turn.failed', code: 'assistant_unavailable', message: 'It failed.' },
    { type: 'state', state: 'lost' },
  ];
  for (const event of events) view.event(event as CallEvent);
  view.end();
  t.equal(
    out.join(''),
    '\r\u001b[Kyou> tell\u001b[2m me\u001b[22m\r\u001b[Kyou> Tell me[31m\ndemo> Once upon |  510 ms\nelsewhere> Typed\ndemo> So\n',
  );
  t.equal(
    err.join(''),
    'Nothing of the reply was heard; what you say next joins your words.\nIt failed. (assistant_unavailable)\nThe connection is lost; trying again.\n',
  );
  t.end();
});
