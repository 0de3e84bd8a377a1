/**
 * A call of the client: at a real server, with a loudspeaker that keeps count, over a socket that is lost, and refused.
 */
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { call, Call, StreamPlayer, type CallEvent, type CallOptions } from '../../src/client/call.ts';
import { drawBytes } from '../../src/client/clock.ts';
import { nodeSocketClass } from '../../src/client/node-socket.ts';
import { Parley } from '../../src/client/parley.ts';
import type { SocketClass } from '../../src/client/socket.ts';
import { clipOf } from '../api/caller.ts';
import { openHouse } from '../api/house.ts';
import { transcriptOf } from '../api/talk.ts';
import { slowness } from '../run/speed.mjs';
import { HandClock } from './scene.ts';

const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1' } });
const parley = new Parley({ url: house.url, key: house.key });

interface Wish {
  readonly texts?: string;
  readonly model?: string;
  readonly characterMs?: number;
  readonly greeting?: string;
}

async function sessionWith({
  texts = 'hello_there',
  model = 'tokens=6',
  characterMs = 20,
  ...fields
}: Wish = {}): Promise<string> {
  const voice = { provider: 'synthetic', name: `character_ms=${characterMs}`, transcription_name: `texts=${texts}` };
  const { id } = await house.assistant({
    channels: { voice: true },
    model: { provider: 'synthetic', name: model },
    voice,
    ...fields,
  });
  return (await parley.sessions.create({ assistant_id: id })).id;
}

/** The events of a call, past and coming. */
class Listener {
  readonly events: CallEvent[] = [];
  readonly #waiting = new Set<() => void>();

  constructor(call: Call) {
    call.subscribe((event) => {
      this.events.push(event);
      for (const wake of this.#waiting) wake();
    });
  }

  async until<Type extends CallEvent['type']>(
    type: Type,
    fits: (event: Extract<CallEvent, { type: Type }>) => boolean = () => true,
  ): Promise<Extract<CallEvent, { type: Type }>> {
    for (;;) {
      const found = this.events.find((event) => event.type === type && fits(event as never));
      if (found !== undefined) return found as never;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
      this.#waiting.clear();
    }
  }

  states(): string[] {
    return this.events.flatMap((event) => (event.type === 'state' ? [event.state] : []));
  }

  textOf(messageId: string): string {
    return this.events
      .map((event) => (event.type === 'message.delta' && event.message_id === messageId ? event.text : ''))
      .join('');
  }
}

/** A call whose player writes to `heard`; it ends with the test. */
function opened(
  t: Test,
  sessionId: string,
  options: Partial<CallOptions> = {},
): { call: Call; listener: Listener; heard: Uint8Array[] } {
  const heard: Uint8Array[] = [];
  const opened = call(parley, sessionId, { player: new StreamPlayer((audio) => heard.push(audio)), ...options });
  t.teardown(() => opened.hangUp());
  return { call: opened, listener: new Listener(opened), heard };
}

/** A few words and silence behind them, at once. */
async function say(call: Call): Promise<void> {
  const bytes = Buffer.concat([await clipOf(house), Buffer.alloc(1500 * 32)]);
  for (let at = 0; at < bytes.length; at += 640) call.send(bytes.subarray(at, at + 640));
}

const classes: readonly (readonly [string, SocketClass | undefined])[] = [
  ['as the runtime has one', undefined],
  ['of the package ws', WebSocket],
  ['over node:http', nodeSocketClass(drawBytes)],
];

for (const [name, Class] of classes) {
  t.test(`words are answered aloud, with a socket ${name}`, async (t) => {
    const sessionId = await sessionWith();
    const { call, listener, heard } = opened(t, sessionId, {
      turn_silence_ms: 400,
      ...(Class && { WebSocket: Class }),
    });
    await listener.until('ready');
    t.match(call.ready, { session_id: sessionId, turn_silence_ms: 400, encoding: 'pcm_s16le' });
    await say(call);
    const started = await listener.until('turn.started');
    t.match(started, { text: 'hello there', spoken: true });
    await listener.until('turn.completed');
    t.ok((await listener.until('answered')).voice_to_voice_ms > 0);
    const whole = await listener.until('audio.end');
    t.equal(
      heard.reduce((sum, { length }) => sum + length, 0),
      2 * whole.samples,
    );
    // A client that is slower than its sound reports after the end.
    t.match(await transcriptOf(house, sessionId), [
      { content: 'hello there' },
      { content: listener.textOf(started.message_id), voice: { heard: /^(played|estimated)$/, cut_by: null } },
    ]);
    await call.hangUp();
    t.match(listener.events.at(-1), { type: 'closed', reason: 'hangup', error: null });
    t.same(listener.states(), ['listening', 'hearing', 'thinking', 'speaking', 'listening', 'closed']);
  });
}

t.test('an interruption is sealed where the loudspeaker was', async (t) => {
  const sessionId = await sessionWith({ model: 'tokens=60', characterMs: 60 });
  const { call, listener } = opened(t, sessionId);
  await listener.until('ready');
  call.message('Tell me a story');
  const { message_id: messageId } = await listener.until('message.delta');
  call.interrupt();
  t.match(await listener.until('turn.aborted'), { cut_by: 'client' });
  t.match((await transcriptOf(house, sessionId))[1], {
    content: listener.textOf(messageId),
    voice: { heard: 'played', cut_by: 'client' },
  });
  t.throws(() => call.message(''), TypeError);
});

t.test('a pause holds the loudspeaker, and a backchannel lets it go on', async (t) => {
  // The reply lasts until the words over it are detected.
  const sessionId = await sessionWith({
    texts: 'tell_me_a_story|yeah',
    model: `tokens=${Math.ceil(16 * slowness())}`,
    characterMs: 60,
  });
  const { call, listener } = opened(t, sessionId);
  await listener.until('ready');
  await say(call);
  const { message_id: messageId } = await listener.until('message.delta');
  await say(call);
  await listener.until('audio.pause');
  await listener.until('audio.resume');
  await listener.until('turn.completed');
  t.match((await transcriptOf(house, sessionId))[1], {
    content: listener.textOf(messageId),
    voice: { heard: 'played', cut_by: null },
  });
});

t.test(
  'a socket that is lost is followed by another, with a new token, and the greeting is not said twice',
  async (t) => {
    const sockets: WebSocket[] = [];
    class Cut extends WebSocket {
      constructor(url: string) {
        super(url);
        sockets.push(this);
      }
    }
    const sessionId = await sessionWith({ greeting: 'Good day.', model: 'tokens=60', characterMs: 60 });
    const { call, listener } = opened(t, sessionId, { WebSocket: Cut, greeting: true });
    await listener.until('audio.end');
    sockets[0]!.terminate();
    await listener.until('state', ({ state }) => state === 'lost');
    call.message('Nobody hears this');
    await listener.until(
      'ready',
      ({ call_id: id }) => id !== (listener.events.find(({ type }) => type === 'ready') as { call_id: string }).call_id,
    );
    await listener.until('state', ({ state }) => state === 'listening');
    t.equal(listener.events.filter(({ type }) => type === 'audio.start').length, 1);
    call.message('Are you there?');
    t.match(await listener.until('turn.started'), { text: 'Are you there?' });
    t.equal(sockets.length, 2);
  },
);

t.test('calls that are refused, replaced, and ended by a signal', async (t) => {
  const refused = opened(t, 'ses_none');
  t.match(await refused.listener.until('closed'), { reason: null, error: { code: 'session_not_found' } });

  const sessionId = await sessionWith();
  const first = opened(t, sessionId);
  await first.listener.until('ready');
  const leaving = new AbortController();
  const second = opened(t, sessionId, { signal: leaving.signal });
  t.match(await first.listener.until('closed'), { reason: 'replaced', error: null });
  await second.listener.until('ready');
  await parley.sessions.end(sessionId);
  t.match(await second.listener.until('closed'), { reason: null, error: { code: 'session_ended' } });
  t.equal(second.call.state, 'closed');
  second.call.message('Too late');
  second.call.send(new Int16Array(320));

  const third = opened(t, await sessionWith(), { signal: AbortSignal.abort() });
  t.match(await third.listener.until('closed'), { reason: 'hangup', error: null });
});

t.test('a service that cannot be reached is tried three times', async (t) => {
  const clock = new HandClock();
  let attempts = 0;
  class Refused {
    readonly bufferedAmount = 0;
    send(): void {}
    close(): void {}
    addEventListener(type: string, listener: (event: object) => void): void {
      if (type === 'error')
        queueMicrotask(
          () => (attempts++, listener({ error: new Error('refused') }), setImmediate(() => clock.advance(10_000))),
        );
    }
  }
  let tokens = 0;
  const lost = new Call({
    token: async () => ({ url: `ws://nowhere/call?token=${++tokens}` }),
    player: new StreamPlayer(() => {}),
    WebSocket: Refused,
    clock,
  });
  t.match(await new Listener(lost).until('closed'), {
    error: { name: 'ConnectionError', message: /^The socket at ws:\/\/nowhere did not open\.$/ },
  });
  t.equal(attempts, 3);
  t.equal(tokens, 1, 'a token is good until a socket has opened with it');
  t.equal(clock.timers, 0);
});

t.test('a call reaches its server at the address that the program gives, whatever the token names', async (t) => {
  const behind = await openHouse(t, { env: { PARLEY_PUBLIC_URL: 'https://parley.invalid' } });
  const own = new Parley({ url: `${behind.url}/`, key: behind.key });
  const { id } = await behind.assistant({
    channels: { voice: true },
    model: { provider: 'synthetic', name: 'tokens=2' },
  });
  const session = await own.sessions.create({ assistant_id: id });
  t.match((await own.sessions.callToken(session.id)).url, /^wss:\/\/parley\.invalid\/call\?token=tok_/);
  for (const url of [own.url, `${behind.url}/`, behind.url.replace('http', 'ws')]) {
    const within = call(own, session.id, { player: new StreamPlayer(() => {}), url });
    await new Listener(within).until('ready');
    await within.hangUp();
  }
});

t.test('a call is opened at the address of its token, or at the given one in its place', async (t) => {
  const opened: string[] = [];
  class Recorded {
    readonly bufferedAmount = 0;
    constructor(url: string) {
      opened.push(url);
    }
    send(): void {}
    close(): void {}
    addEventListener(): void {}
  }
  const forms: readonly (readonly [string | undefined, string])[] = [
    [undefined, 'wss://parley.invalid:8443/call?token=a%2Fb&ahead_ms=300'],
    ['https://chat.example', 'wss://chat.example/call?token=a%2Fb&ahead_ms=300'],
    ['http://127.0.0.1:8080/', 'ws://127.0.0.1:8080/call?token=a%2Fb&ahead_ms=300'],
    ['https://chat.example/parley//', 'wss://chat.example/parley/call?token=a%2Fb&ahead_ms=300'],
    ['wss://chat.example:444', 'wss://chat.example:444/call?token=a%2Fb&ahead_ms=300'],
  ];
  for (const [url, expected] of forms) {
    const leaving = new AbortController();
    const made = new Call({
      token: async () => ({ url: 'wss://parley.invalid:8443/call?token=a%2Fb' }),
      player: new StreamPlayer(() => {}),
      WebSocket: Recorded,
      ahead_ms: 300,
      signal: leaving.signal,
      ...(url !== undefined && { url }),
    });
    while (opened.length === 0) await new Promise(setImmediate);
    t.equal(opened.pop(), expected);
    leaving.abort();
    await made.closed;
  }
});

t.test(
  'a muted person is silent, in any encoding, and the rest of a source is not read once the call is over',
  async (t) => {
    const sent: unknown[] = [];
    class Open {
      readonly bufferedAmount = 0;
      send(data: unknown): void {
        sent.push(data);
      }
      close(): void {}
      addEventListener(type: string, listener: (event: object) => void): void {
        if (type === 'open') setImmediate(() => listener({}));
      }
    }
    const muted = new Call({
      token: async () => ({ url: 'ws://nowhere/call?token=1' }),
      player: new StreamPlayer(() => {}),
      WebSocket: Open,
      encoding: 'pcm_mulaw',
      sample_rate: 8000,
      ahead_ms: 300,
    });
    muted.muted = true;
    muted.send(new Uint8Array(3));
    while (sent.length < 2) await new Promise(setImmediate);
    t.same(
      sent,
      ['{"type":"start","encoding":"pcm_mulaw","sample_rate":8000}', new Uint8Array([255, 255, 255])],
      'audio that was sent before the socket opened comes behind the start',
    );
    let left = false;
    const source = (async function* () {
      try {
        for (;;) {
          yield new Uint8Array([1]);
          if (sent.length > 5) void muted.hangUp();
          await new Promise(setImmediate);
        }
      } finally {
        left = true;
      }
    })();
    const sending = muted.sendFrom(source);
    while (!sent.includes('{"type":"hangup"}')) await new Promise(setImmediate);
    await sending;
    await muted.closed;
    t.ok(left);
  },
);
