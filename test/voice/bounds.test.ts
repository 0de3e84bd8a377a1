/** What one client of a transcription socket can cost: what waits for a slow reader, and the audio of a fast sender (contract 8, promise V5). */
import t, { type Test } from 'tap';
import type { AudioSettings } from '../../src/conversation/transcription-socket.ts';
import { TranscriptionSocket } from '../../src/conversation/transcription-socket.ts';
import type { Socket } from '../../src/edge.ts';
import { nobody } from '../../src/host/cause.ts';
import { SocketActor } from '../../src/host/sockets.ts';
import { Inspector } from '../../src/host/inspector.ts';
import { limits } from '../../src/limits.ts';
import { windowSamples } from '../../src/voice/engine/messages.ts';
import { ManualClock } from '../model/provider.ts';

/** A socket whose client takes nothing of what is sent. */
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

const text = 'word '.repeat(200).trim();

/** A socket, which is open, over a detector to which everything but silence is speech, and a recogniser that always hears much. */
function opened(settings: Partial<AudioSettings> = {}, meanwhile: (actor: SocketActor) => void = () => {}) {
  const clock = new ManualClock();
  const seen = { detected: 0 };
  const detector = {
    chances: async (samples: Int16Array) => {
      seen.detected += samples.length;
      return Float32Array.from({ length: samples.length / windowSamples }, (_, window) => (samples[window * windowSamples] === 0 ? 0 : 1));
    },
    close: () => {},
  };
  const record = { workspaceId: 'wks_a', id: 'asst_a' };
  const services = {
    ...{ clock, ids: { secret: () => 'id' }, log: { warn: () => {}, error: () => {} } },
    store: { usage: { count: async () => {} } },
    host: { assistants: { of: async () => record, voiceRefusal: () => null } },
    voice: { detector: () => detector, ladder: { stretch: () => 1 } },
    metrics: { voice: { utterances: { inc: () => {} } } },
  };
  const facts = { id: 'tok_a', workspaceId: 'wks_a', tokenUntilMs: clock.now() + 60_000, expiresAt: null, cause: nobody };
  const actor = new SocketActor(facts, new Inspector(), () => {});
  actor.send({ type: 'open', at: clock.now(), refusal: null });
  const provider = { provider: 'synthetic', partials: true, takesLanguage: () => true, transcribe: async () => text };
  const ready = { provider, settings: {}, access: { baseUrl: null, apiKey: null } };
  const listener = new TranscriptionSocket({
    ...{ actor, session: null, keyId: null, requestId: 'req_a', ready: ready as never, assistant: { record } as never, services: services as never },
    settings: { encoding: 'pcm_s16le', sampleRate: 16_000, language: null, silenceMs: 300, partials: true, ...settings },
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

t.test('what closes a socket before it is open is said as it opens', async (t: Test) => {
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

for (const [name, frameMs] of [['in small frames', 20], ['in large ones', 5_000]] as const) {
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
