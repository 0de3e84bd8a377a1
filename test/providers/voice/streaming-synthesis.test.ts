/** A reply that is read aloud while it is written: sentences, frames and plans, in order. */
import t, { type Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { VoiceFailed, type SentenceRequest, type VoiceProvider } from '../../../src/providers/voice.ts';
import { leadOf } from '../../../src/providers/voice/audio/lead.ts';
import { joinedSamples } from '../../../src/providers/voice/audio/samples.ts';
import {
  StreamingSynthesis,
  type SynthesisEvent,
  type StreamingSynthesisOptions,
} from '../../../src/providers/voice/streaming-synthesis.ts';
import { codePoints } from '../../../src/base/text.ts';
import { embeddedVoice } from '../../../src/providers/voice/embedded.ts';
import { openFlite } from '../../../src/providers/voice/engine/flite.ts';
import { englishOf } from '../../../src/providers/voice/english.ts';
import { heardAt } from '../../../src/providers/voice/plan.ts';
import { VoiceProcesses } from '../../../src/providers/voice/processes.ts';
import { speakableText } from '../../../src/providers/voice/speakable.ts';
import { syntheticVoice } from '../../../src/providers/voice/synthetic.ts';

const clock = new WheelClock();
t.teardown(() => clock.stop());
const synthetic = syntheticVoice(clock);

function narrating(
  t: Test,
  provider: VoiceProvider,
  name = 'character_ms=10',
  options: Partial<StreamingSynthesisOptions> = {},
) {
  const counted: number[] = [];
  const narration = new StreamingSynthesis({
    provider,
    request: { caller: 'w', name, voice: null, speed: 1, access: { baseUrl: null, apiKey: null } },
    encoding: 'pcm_s16le',
    sampleRate: 16_000,
    clock,
    begun: (characters) => void counted.push(characters),
    written: () => {},
    ...options,
  });
  t.teardown(() => narration.stop());
  return { narration, counted };
}

async function all(narration: StreamingSynthesis): Promise<SynthesisEvent[]> {
  const found: SynthesisEvent[] = [];
  for await (const one of narration.spoken()) found.push(one);
  return found;
}

const samplesIn = (narrated: readonly SynthesisEvent[]): number =>
  narrated.reduce((sum, one) => sum + (one.type === 'frame' ? one.samples : 0), 0);
const plansIn = (narrated: readonly SynthesisEvent[]) =>
  narrated.flatMap((one) => (one.type === 'plan' ? [one.plan] : []));

/** A voice that knows no words, in pieces. */
const untimed = (speak: VoiceProvider['speak'] = (request) => synthetic.speak(request)): VoiceProvider => ({
  ...synthetic,
  async speak(request) {
    const { pieces, sampleRate } = await speak({ ...request, timed: false });
    return { pieces, sampleRate };
  },
});

t.test('sentences with their plans', async (t) => {
  for (const rate of [8_000, 16_000, 24_000]) {
    const { narration, counted } = narrating(t, synthetic, 'character_ms=10', { sampleRate: rate });
    for (const piece of ['One ', 'two. ', '🎉 Thr', 'ee **four**!']) narration.push(piece);
    narration.end();
    narration.push('too late');
    const narrated = await all(narration);
    const ms = rate / 1000;
    t.match(
      narrated.filter(({ type }) => type === 'sentence'),
      [
        { from: 0, to: 8, start: 0 },
        { from: 9, to: 26, start: 80 * ms },
      ],
    );
    t.equal(samplesIn(narrated), (80 + 110) * ms);
    const [one, other] = plansIn(narrated);
    t.same([one!.samples, other!.samples], [80 * ms, 110 * ms]);
    t.equal(heardAt(one!, 14 * ms), 0);
    t.equal(heardAt(one!, 15 * ms), 3);
    t.equal(heardAt(other!, 0), 10);
    t.equal(heardAt(other!, 110 * ms), 26);
    t.same(counted, [9, 17]);
    t.ok(
      narrated.findIndex(({ type }) => type === 'plan') < narrated.findIndex(({ type }) => type === 'frame'),
      'known words come before the audio',
    );
  }
});

/** A voice that is silent before each sentence, and gives its audio in pieces of 10 ms. */
const late = (silentMs: number, wordsKnown: boolean): VoiceProvider => ({
  ...synthetic,
  async speak(request) {
    const { pieces, sampleRate, words } = await synthetic.speak(request);
    const silent = silentMs * 16;
    const samples: Int16Array[] = [new Int16Array(silent)];
    for await (const piece of pieces) samples.push(piece);
    const whole = joinedSamples(samples);
    async function* parts() {
      for (let at = 0; at < whole.length; at += 160) yield whole.subarray(at, at + 160);
    }
    return {
      sampleRate,
      pieces: parts(),
      ...(wordsKnown && { words: words!.map(({ from, to }) => ({ from: from + silent, to: to + silent })) }),
    };
  },
});

t.test('a reply begins with its first sound, and pauses between its sentences stay', async (t) => {
  const told = async (provider: VoiceProvider, name?: string) => {
    const { narration } = narrating(t, provider, name);
    narration.push('One two. Three four. ');
    narration.end();
    const narrated = await all(narration);
    return {
      plans: plansIn(narrated),
      samples: samplesIn(narrated),
      frames: narrated.filter(({ type }) => type === 'frame').length,
    };
  };
  const [plain, trimmed, inProportion, slow] = await Promise.all([
    told(late(0, true)),
    told(late(200, true)),
    told(late(200, false)),
    told(late(600, true)),
  ]);
  t.same(
    trimmed.plans[0]!.words,
    plain.plans[0]!.words.map((word) => ({ ...word, begin: word.begin + 80 - 1, half: word.half + 80 - 1 })),
    'words move with their audio',
  );
  for (const { plans } of [trimmed, inProportion])
    t.same(
      plans.map(({ samples }) => samples),
      [80 * 16 + 80 - 1, (110 + 200) * 16],
    );
  t.ok(inProportion.plans[0]!.words[0]!.half > 80, 'the first sound is behind what stays of the silence');
  t.same(
    slow.plans.map(({ samples }) => samples),
    [680 * 16, 710 * 16],
    'a long silence is meant',
  );
  const silence = await told(late(300, false), 'audio_ms=0');
  t.same(
    silence.plans.map(({ samples }) => samples),
    [300 * 16, 300 * 16],
    'nothing sounds',
  );
});

t.test('sentences are told as they are written, and pieces of them are not', async (t) => {
  let written = 0;
  const { narration } = narrating(t, synthetic, 'character_ms=10', { written: () => void (written += 1) });
  for (let piece = 0; piece < 50; piece += 1) narration.push('a');
  t.equal(written, 0);
  narration.push(' word. And');
  t.equal(written, 1);
  narration.end();
  t.equal(written, 1, 'the end of the reply is told otherwise');
});

t.test('a voice that knows no words', async (t) => {
  const { narration } = narrating(t, untimed());
  narration.push('One two.');
  narration.end();
  const narrated = await all(narration);
  t.equal(heardAt(plansIn(narrated)[0]!, 40 * 16), 3);
  t.equal(heardAt(plansIn(narrated)[0]!, 80 * 16), 8);
});

t.test('a sentence of minutes, whole or in pieces, with its plan as early as can be', async (t) => {
  const text = 'One two three four five six seven eight.';
  const sliced = (request: SentenceRequest) =>
    synthetic.speak(request).then(({ pieces, sampleRate }) => ({
      sampleRate,
      pieces: (async function* () {
        for await (const piece of pieces)
          for (let at = 0; at < piece.length; at += 16_000) yield piece.subarray(at, at + 16_000);
      })(),
    }));
  for (const [name, provider, early] of [
    ['whole', synthetic, true],
    ['pieces', untimed(sliced), false],
  ] as const) {
    const { narration } = narrating(t, provider, 'character_ms=1000');
    narration.push(text);
    narration.end();
    const narrated = await all(narration);
    t.equal(samplesIn(narrated), 40 * 16_000, name);
    const plan = narrated.findIndex(({ type }) => type === 'plan');
    t.equal(narrated.findIndex(({ type }) => type === 'frame') > plan, early);
    t.ok(narrated.length - plan > 200, 'seconds before the end');
    t.equal(plansIn(narrated).length, 1);
  }
});

t.test('one sentence ahead, and no more', async (t) => {
  const { narration, counted } = narrating(t, synthetic);
  narration.push('One one. Two two. Three three. Four four. ');
  t.equal(counted.length, 2);
  const spoken = narration.spoken();
  let sentences = 0;
  while (sentences < 2) if ((await spoken.next()).value?.type === 'sentence') sentences++;
  t.equal(counted.length, 3);
  await spoken.return();
  narration.push('Five five.');
  t.equal(counted.length, 3, 'it was left');
});

t.test('the last sentence is spoken though the text does not end', async (t) => {
  const { narration } = narrating(t, synthetic);
  const spoken = narration.spoken();
  narration.push('One two.');
  t.match((await spoken.next()).value, { type: 'sentence' });
  await spoken.return();
});

t.test('it is stopped, has nothing to say, or fails', async (t) => {
  const waiting = narrating(t, synthetic).narration;
  const spoken = all(waiting);
  waiting.stop();
  t.same(await spoken, []);
  const silent = narrating(t, synthetic).narration;
  silent.push('🎉');
  silent.end();
  t.same(await all(silent), []);
  const failing = narrating(t, synthetic, 'fail_at=1').narration;
  failing.push('One one. Two two.');
  failing.end();
  const found: string[] = [];
  await t.rejects(async () => {
    for await (const { type } of failing.spoken()) found.push(type);
  }, new VoiceFailed('provider_error'));
  t.ok(found.includes('frame'), 'the sentence before was spoken');
  let asked: SentenceRequest | null = null;
  const hanging = narrating(
    t,
    untimed(
      (request) => (
        (asked = request),
        new Promise((_, reject) => request.signal.addEventListener('abort', () => reject(new Error('left'))))
      ),
    ),
  ).narration;
  hanging.push('One one. Two');
  const stopped = all(hanging);
  hanging.stop();
  t.same(await stopped, []);
  t.equal(asked!.signal.aborted, true);
});

t.test('the embedded voice knows its words to the sample', async (t) => {
  const processes = new VoiceProcesses({ count: 1, clock });
  t.teardown(() => processes.close());
  const { narration } = narrating(t, embeddedVoice({ speakers: processes, listeners: processes }), '');
  const raw = 'Well, the **shop** is open from 9 to 6 🎉.';
  narration.push(raw);
  narration.end();
  const [plan] = plansIn(await all(narration));
  const { words, samples } = (await openFlite())(englishOf(speakableText(raw)), { name: 'slt', file: null }, 1, true);
  const lead = leadOf(samples, 16_000);
  t.ok(lead > 1_600, 'flite begins with silence');
  t.equal(plan!.samples, samples.length - lead);
  t.same(
    plan!.words.map(({ begin }) => begin),
    words!.filter(({ from, to }) => from < to).map(({ from }) => Math.max(0, from - lead)),
  );
  t.equal(heardAt(plan!, samples.length), codePoints(raw));
});

t.test('a reply that rests is spoken so far, and goes on', async (t) => {
  const still = { now: () => 0, monotonic: () => 0, after: () => ({ cancel: () => {} }), stop: () => {} };
  const { narration } = narrating(t, synthetic, 'character_ms=10', { clock: still });
  const spoken = narration.spoken();
  const sentence = async (): Promise<SynthesisEvent> => {
    for (;;) {
      const { value } = await spoken.next();
      if (value!.type === 'sentence') return value!;
    }
  };
  narration.push('Well. Let me look that up');
  narration.rest();
  t.match(await sentence(), { from: 0, to: 5 });
  t.match(await sentence(), { from: 6, to: 25 }, 'without a full stop, and without time');
  narration.push(' It is here.');
  narration.end();
  t.match(await sentence(), { from: 25, to: 37 });
});
