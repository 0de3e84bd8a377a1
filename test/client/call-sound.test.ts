/**
 * The sound of a call that is no message's: silence in place of the echo of a reply, and the soft sound while one is
 * thought of. The service's side is the test's own.
 */
import t from 'tap';
import { Call, type CallOptions, type Player } from '../../src/client/call.ts';
import { softSound } from '../../src/client/thinking.ts';
import { samplesOfALaw, samplesOfMuLaw } from '../../src/providers/voice/audio/g711.ts';
import { HandClock } from './scene.ts';

/** Keeps the orders that a player is given. */
class Told implements Player {
  readonly sampleRate = 8000;
  onPlayed: Player['onPlayed'] = null;
  readonly deeds: string[] = [];

  play(messageId: string, audio: Uint8Array): void {
    this.deeds.push(`play ${messageId} ${audio.length}`);
  }

  pause = (): number => 0;
  resume(): void {}

  clear(messageId: string): number {
    this.deeds.push(`clear ${messageId}`);
    return 0;
  }

  close(): void {}
}

interface Scene {
  readonly call: Call;
  readonly clock: HandClock;
  readonly player: Told;
  /** Audio that was sent. */
  readonly sent: Uint8Array[];
  tell(message: object): void;
}

/** A call that is open. */
async function opened(options: Partial<CallOptions> = {}): Promise<Scene> {
  const [clock, player, sent] = [new HandClock(), new Told(), [] as Uint8Array[]];
  let tell: (message: object) => void = () => {};
  class Open {
    readonly bufferedAmount = 0;
    send(data: string | Uint8Array): void {
      if (typeof data !== 'string') sent.push(data);
    }
    close(): void {}
    addEventListener(type: string, listener: (event: object) => void): void {
      if (type === 'open') setImmediate(() => listener({}));
      if (type === 'message') tell = (message) => listener({ data: JSON.stringify(message) });
    }
  }
  const call = new Call({
    token: async () => ({ url: 'ws://nowhere/call?token=1' }),
    player,
    clock,
    WebSocket: Open,
    ...options,
  });
  call.send(new Uint8Array([1]));
  while (sent.length === 0) await new Promise(setImmediate);
  sent.splice(0);
  return { call, clock, player, sent, tell: (message) => tell(message) };
}

const state = (state: string): object => ({ type: 'state', state });

t.test('half duplex: silence while a reply is spoken and shortly after it', async (t) => {
  const { call, clock, sent, tell } = await opened({ barge_in: 'off' });
  t.equal(call.halfDuplex, true, 'with barge_in off from the start');
  const says = (): number => {
    call.send(new Uint8Array([1]));
    return sent.at(-1)![0]!;
  };
  tell(state('thinking'));
  t.equal(says(), 1);
  tell(state('speaking'));
  t.equal(says(), 0);
  tell(state('paused'));
  clock.advance(1_000);
  t.equal(says(), 0);
  tell(state('listening'));
  clock.advance(299);
  t.equal(says(), 0, 'the last of the reply is still on its way to the microphone');
  clock.advance(1);
  t.equal(says(), 1);
  tell(state('speaking'));
  call.halfDuplex = false;
  t.equal(says(), 1, 'it can be changed at any time');
  call.halfDuplex = true;
  t.equal(says(), 0);
  tell({ type: 'ended', reason: 'hangup' });
  await call.closed;
});

t.test(
  'half duplex: otherwise who speaks is heard, and of opus there is nothing in place of what is not',
  async (t) => {
    const full = await opened();
    full.tell(state('speaking'));
    full.call.send(new Uint8Array([1]));
    t.same([full.call.halfDuplex, full.sent], [false, [new Uint8Array([1])]]);
    const opus = await opened({ barge_in: 'off', encoding: 'opus' });
    opus.tell(state('speaking'));
    opus.call.send(new Uint8Array([1]));
    t.same(opus.sent, []);
  },
);

t.test('a long thought has a soft sound, which the reply cuts', async (t) => {
  const { call, clock, player, tell } = await opened({ thinkingSound: true, output_encoding: 'pcm_mulaw' });
  tell(state('thinking'));
  clock.advance(1_499);
  t.same(player.deeds, [], 'a short one has none');
  clock.advance(1);
  t.same(player.deeds, ['play thinking-1 4000']);
  clock.advance(2_500);
  tell(state('speaking'));
  t.same(player.deeds.splice(0), ['play thinking-1 4000', 'play thinking-2 4000', 'clear thinking-2']);
  clock.advance(10_000);
  tell(state('thinking'));
  clock.advance(2_100);
  tell(state('held'));
  clock.advance(10_000);
  t.same(player.deeds.splice(0), ['play thinking-3 4000'], 'one that is over need not be cut');
  tell(state('thinking'));
  void call.hangUp();
  clock.advance(1_900);
  t.same(player.deeds, [], 'nor is there one after the call');
  clock.advance(1_000);
  await call.closed;
  t.equal(clock.timers, 0);
});

t.test('without it a thought is silent', async (t) => {
  const { clock, player, tell } = await opened();
  tell(state('thinking'));
  clock.advance(60_000);
  t.same(player.deeds, []);
});

t.test('the soft sound in each encoding', (t) => {
  const samples = new Int16Array(softSound(8000).buffer);
  t.equal(samples.length, 4000);
  const loudest = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  t.ok(loudest > 700 && loudest <= 820, `${loudest}: some -32 dB`);
  t.ok(Math.abs(samples[0]!) + Math.abs(samples.at(-1)!) < 10, 'it begins and ends without a click');
  for (const [encoding, samplesOf] of [
    ['pcm_mulaw', samplesOfMuLaw],
    ['pcm_alaw', samplesOfALaw],
  ] as const) {
    const heard = samplesOf(softSound(8000, encoding));
    // A step at this loudness is 32.
    t.ok(
      heard.every((sample, at) => Math.abs(sample - samples[at]!) <= 32),
      encoding,
    );
  }
  t.end();
});
