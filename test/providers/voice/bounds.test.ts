/**
 * Bounds on the cost of one client of a transcription socket: the buffer for a slow reader, and the audio of a fast
 * sender (contract 8, promise V5).
 */
import t, { type Test } from 'tap';
import type { AudioSettings } from '../../../src/conversation/transcription-socket.ts';
import { TranscriptionSocket } from '../../../src/conversation/transcription-socket.ts';
import type { Socket } from '../../../src/base/edge.ts';
import { nobody } from '../../../src/actors/cause.ts';
import { socketKind, type SocketEvent, type SocketOutcome } from '../../../machines/socket.ts';
import { SocketActor } from '../../../src/host/sockets.ts';
import { LinkRefused } from '../../../src/host/visitors.ts';
import { Inspector } from '../../../src/actors/inspector.ts';
import { limits } from '../../../src/base/limits.ts';
import type { Session } from '../../../src/store/store.ts';
import { windowSamples } from '../../../src/providers/voice/engine/messages.ts';
import { until } from '../../api/talk.ts';
import { ManualClock } from '../model/provider.ts';

/** A socket whose client reads nothing. */
class Stuck implements Socket {
  bufferedBytes = 0;
  most = 0;
  readonly sent: any[] = [];
  closedWith: number | null = null;

  send(data: string | Uint8Array): boolean {
    this.sent.push(JSON.parse(String(data)));
    this.bufferedBytes += data.length;
    this.most = Math.max(this.most, this.bufferedBytes);
    return false;
  }

  close(code: number): void {
    this.closedWith ??= code;
  }

  of(type: string): any[] {
    return this.sent.filter((message) => message.type === type);
  }
}

const visitor = {
  workspaceId: 'wks_a',
  id: 'vis_a',
  kind: 'visitor',
  name: 'vis_a',
  channel: 'link',
  assistantIds: ['asst_a'],
  visitor: { addressKey: () => 'somewhere', signedFields: null },
} as const;

const text = 'word '.repeat(200).trim();

/**
 * A socket, which is open, over a detector to which everything but silence is speech, and a recogniser that always
 * hears much.
 */
function opened(
  settings: Partial<AudioSettings> = {},
  meanwhile: (actor: SocketActor<SocketEvent, SocketOutcome>) => void = () => {},
  session: Session | null = null,
) {
  const clock = new ManualClock();
  const openedAt = clock.monotonic();
  /** `charged`: when the visitor's presence was charged, and for how long, in milliseconds. */
  const seen = { detected: 0, charged: [] as [at: number, ms: number][], refuses: false };
  const keepPresent = async (_actor: object, _use: object, untilMs: number): Promise<void> => {
    if (seen.refuses) throw new LinkRefused(['concurrent_visitors'], 1_000);
    seen.charged.push([clock.monotonic() - openedAt, untilMs - clock.now()]);
  };
  const detector = {
    chances: async (samples: Int16Array) => {
      seen.detected += samples.length;
      return Float32Array.from({ length: samples.length / windowSamples }, (_, window) =>
        samples[window * windowSamples] === 0 ? 0 : 1,
      );
    },
    close: () => {},
  };
  const record = { workspaceId: 'wks_a', id: 'asst_a' };
  const services = {
    ...{ clock, ids: { secret: () => 'id' }, log: { warn: () => {}, error: () => {} } },
    store: { leaseMs: null, usage: { count: async () => {} } },
    host: {
      assistants: { of: async () => ({ record }), voiceRefusal: () => null },
      workspaces: { of: async () => ({}) },
      sessions: { of: async () => ({}), read: async () => ({ ...session, machine: { state: 'open' } }), keepPresent },
    },
    voice: { detector: () => detector, loadShedding: { stretchFor: () => 1 } },
    metrics: { limited: { inc: () => {} }, voice: { utterances: { inc: () => {} } } },
  };
  const facts = {
    id: 'tok_a',
    workspaceId: 'wks_a',
    tokenUntilMs: clock.now() + 60_000,
    expiresAt: null,
    cause: nobody,
  };
  const actor = new SocketActor<SocketEvent, SocketOutcome>(socketKind, facts, new Inspector(), () => {});
  actor.send({ type: 'open', at: clock.now(), refusal: null });
  const provider = { provider: 'synthetic', partials: true, takesLanguage: () => true, transcribe: async () => text };
  const ready = { provider, settings: {}, access: { baseUrl: null, apiKey: null } };
  const listener = new TranscriptionSocket({
    ...{
      actor,
      session,
      principal: visitor,
      requestId: 'req_a',
      ready: ready as never,
      assistant: { record } as never,
      services: services as never,
    },
    settings: {
      encoding: 'pcm_s16le',
      sampleRate: 16_000,
      language: null,
      silenceMs: 300,
      partials: true,
      ...settings,
    },
  });
  const socket = new Stuck();
  meanwhile(actor);
  listener.opened(socket);
  return { clock, listener, socket, seen };
}

/** Everything that was started has come to its end. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const speech = (ms: number): Uint8Array => new Uint8Array(Int16Array.from({ length: ms * 16 }, () => 1000).buffer);

t.test('a socket closed before it opens tells the reason as it opens', async (t: Test) => {
  const { listener, socket } = opened({}, (actor) => actor.send({ type: 'drain', at: 0 }));
  t.match(socket.sent, [{ type: 'error', code: 'api_error' }]);
  t.equal(socket.sent.length, 1, 'and nothing else');
  t.equal(socket.closedWith, 1012);
  listener.message(speech(1_000));
  await settled();
  t.equal(socket.sent.length, 1);
});

t.test('a slow reader loses partials, then its socket', async (t: Test) => {
  const { clock, listener, socket } = opened();
  let finalsAtLastPartial = 0;
  for (let said = 0; said < 500 && socket.closedWith === null; said++) {
    const before = socket.of('transcript.partial').length;
    listener.message(speech(1_200));
    await settled();
    listener.message('{"type":"flush"}');
    await settled();
    if (socket.of('transcript.partial').length > before) finalsAtLastPartial = socket.of('transcript.final').length;
    clock.advance(1_200);
  }
  t.equal(socket.closedWith, 1008);
  t.match(socket.sent.at(-1), { type: 'error', code: 'rate_limited' }, 'the error still fits');
  t.ok(socket.most <= limits.socketWaitingBytesMax, `${socket.most} bytes waited at most`);
  t.ok(socket.most > limits.socketWaitingBytesMax - 4096, 'no sooner');
  t.ok(socket.of('transcript.final').length > finalsAtLastPartial + 100, 'finals came long after the last partial');
  const [starts, finals] = [socket.of('speech.started').length, socket.of('transcript.final').length];
  t.ok(starts - finals <= 1 && finals > 100, `${starts} starts and ${finals} finals`);
});

for (const [name, frameMs] of [
  ['in small frames', 20],
  ['in large ones', 5_000],
] as const) {
  t.test(`a fast sender has ten seconds taken, ${name}`, async (t: Test) => {
    const { listener, socket, seen } = opened();
    for (let sentMs = 0; sentMs < 60_000; sentMs += frameMs) listener.message(speech(frameMs));
    await settled();
    t.equal(socket.closedWith, 1008);
    t.match(socket.sent.at(-1), { type: 'error', code: 'rate_limited' });
    t.ok(seen.detected <= limits.socketAudioMsMax * 16, `${seen.detected / 16} ms were looked at`);
    t.ok(socket.of('audio.received').every(({ audio_ms: ms }) => ms <= limits.socketAudioMsMax));
  });
}

t.test('frames of no byte and of one, a hundred thousand of each', async (t: Test) => {
  const { listener, socket, seen } = opened();
  for (let frame = 0; frame < 100_000; frame++) {
    listener.message(new Uint8Array(0));
    listener.message(Uint8Array.of(1));
  }
  await settled();
  t.equal(socket.closedWith, null);
  t.same(
    socket.of('audio.received').map(({ audio_ms: ms }) => ms),
    [1000, 2000, 3000],
    '50,000 samples',
  );
  t.ok(seen.detected <= 50_000);
});

t.test('messages that come while their decoder is loaded are taken in order, and bounded', async (t: Test) => {
  const { listener, socket } = opened({ encoding: 'opus' });
  listener.message(new Uint8Array(9_000));
  listener.message('{"type":"finish"}');
  listener.message('no message');
  await until(() => socket.closedWith !== null);
  t.match(
    [socket.closedWith, socket.sent.at(-1)],
    [1008, { type: 'error', code: 'invalid_request' }],
    'the packet, which is none, comes first',
  );
  for (const [what, bytes] of [
    ['many', 10],
    ['large ones', 100_000],
  ] as const) {
    const flooded = opened({ encoding: 'opus' });
    for (let frame = 0; frame < 100_000 && flooded.socket.closedWith === null; frame++)
      flooded.listener.message(new Uint8Array(bytes));
    t.match(
      [flooded.socket.closedWith, flooded.socket.sent.at(-1)],
      [1008, { type: 'error', code: 'rate_limited' }],
      what,
    );
  }
});

t.test('messages after a finish or an error are ignored', async (t: Test) => {
  for (const first of [
    '{"type":"finish"}',
    '{"type":"unknown"}',
    '[]',
    `{"type":"flush","more":"${'x'.repeat(limits.socketTextCharactersMax)}"}`,
  ]) {
    const { listener, socket } = opened();
    listener.message(speech(100));
    listener.message(first);
    const before = socket.sent.length;
    for (let again = 0; again < 100_000; again++) listener.message(again % 2 === 0 ? '{"type":"start"}' : speech(1));
    await settled();
    if (first.includes('finish')) {
      t.match(
        socket.sent.slice(before).filter(({ type }) => type === 'done'),
        [{ audio_ms: 100 }],
      );
      t.equal(socket.closedWith, 1000);
    } else {
      t.equal(socket.closedWith, 1008);
      t.match(socket.sent.at(-1), { type: 'error', code: 'invalid_request' });
      t.equal(socket.sent.length, before);
    }
  }
});

const session = (link: object | undefined): Session =>
  ({ workspaceId: 'wks_a', id: 'ses_a', expiresAt: 1e12, link }) as never;
const ofVisitor = session({ visitorId: 'vis_a', clock: null });

async function passes(clock: ManualClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= limits.socketPollMs) {
    clock.advance(limits.socketPollMs);
    await settled();
  }
}

t.test(
  "a visitor's silent socket is charged for a minute from its opening, and from the next speech on",
  async (t: Test) => {
    const { clock, listener, socket, seen } = opened({}, () => {}, ofVisitor);
    const { linkSilenceMs, linkSocketMs, linkSocketAheadMs } = limits;
    await settled();
    await passes(clock, 2 * linkSilenceMs);
    t.same(seen.charged[0], [0, linkSocketAheadMs], 'at once');
    t.equal(seen.charged.length, linkSilenceMs / linkSocketMs);
    t.equal(Math.max(...seen.charged.map(([at, ms]) => at + ms)), linkSilenceMs, 'to the millisecond');
    listener.message(speech(100));
    await settled();
    t.same(seen.charged.at(-1), [2 * linkSilenceMs, linkSocketAheadMs], 'as soon as somebody speaks');
    t.equal(socket.of('speech.started').length, 1);
    for (let spoken = 0; spoken < 2 * linkSilenceMs; spoken += 1_000) {
      listener.message(speech(1_000));
      await passes(clock, 1_000);
    }
    t.equal(
      Math.max(...seen.charged.map(([at, ms]) => at + ms)),
      4 * linkSilenceMs + linkSocketAheadMs,
      'for as long as somebody speaks',
    );
    const before = seen.charged.length;
    listener.closed();
    await passes(clock, linkSilenceMs);
    t.equal(seen.charged.length, before, 'not after its close');
    t.equal(clock.timers, 0);
  },
);

t.test('a socket whose visitor a limit does not let in again is closed when speech begins', async (t: Test) => {
  const { clock, listener, socket, seen } = opened({}, () => {}, ofVisitor);
  await passes(clock, limits.linkSilenceMs);
  seen.refuses = true;
  await passes(clock, limits.linkSilenceMs);
  t.equal(socket.closedWith, null, 'silence asks for nothing');
  listener.message(speech(100));
  await settled();
  t.same([socket.closedWith, socket.sent.at(-1).code, socket.of('speech.started').length], [1008, 'rate_limited', 0]);
  t.equal(clock.timers, 0);
});

t.test('a socket whose visitor a limit refuses while they speak is closed', async (t: Test) => {
  const { clock, listener, socket, seen } = opened({}, () => {}, ofVisitor);
  listener.message(speech(1_000));
  seen.refuses = true;
  await passes(clock, limits.linkSocketMs);
  t.same([socket.closedWith, socket.sent.at(-1).code], [1008, 'rate_limited']);
});

t.test('a socket on a session of no visitor is charged nothing', async (t: Test) => {
  const { clock, listener, seen } = opened({}, () => {}, session(undefined));
  listener.message(speech(1_000));
  await passes(clock, limits.linkSilenceMs);
  t.same(seen.charged, []);
  listener.closed();
});
