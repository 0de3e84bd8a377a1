/** The ear of a call: turns from utterances, by the silence that their text asks for. */
import t, { type Test } from 'tap';
import type { Clock } from '../../../src/base/clock.ts';
import type { SpokenReply } from '../../../src/providers/voice/interruption.ts';
import { PendingTranscript } from '../../../src/providers/voice/pending-transcript.ts';
import {
  TurnDetector,
  type TurnDetectorEvent,
  type TurnDetectorOptions,
} from '../../../src/providers/voice/turn-detector.ts';

/** A clock that the test moves. */
function movedClock(): Clock & { pass(ms: number): void } {
  let now = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return { cancel: () => void timers.delete(timer) };
    },
    stop: () => timers.clear(),
    pass(ms) {
      const until = now + ms;
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at);
        if (next === undefined) break;
        now = next.at;
        timers.delete(next);
        next.callback();
      }
      now = until;
    },
  };
}

const samplesOf = (ms: number): number => Math.round((ms * 16) / 512) * 512;
const voice = (ms: number): Int16Array => new Int16Array(samplesOf(ms)).fill(1000);
const silence = (ms: number): Int16Array => new Int16Array(samplesOf(ms));
/** Everything that is ready has run. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

type Saying = string | Error;

/**
 * An ear to which everything but silence is voice, and the transcripts of its utterances in order; the last is
 * repeated.
 */
function listening(t: Test, texts: readonly Saying[], options: Partial<TurnDetectorOptions> = {}) {
  const clock = movedClock();
  const events: TurnDetectorEvent[] = [];
  const seen: string[] = [];
  let asked = 0;
  let reply: SpokenReply | null = null;
  const ear = new TurnDetector({
    clock,
    turnSilenceMs: 500,
    partials: false,
    pending: new PendingTranscript(),
    repeats: true,
    detector: {
      chances: async (samples) =>
        Float32Array.from({ length: samples.length / 512 }, (_, window) => (samples[window * 512] === 0 ? 0 : 1)),
      close: () => {},
    },
    async transcribe(_samples, { number }) {
      asked++;
      const text = texts[Math.min(number, texts.length) - 1]!;
      if (text instanceof Error) throw text;
      return text;
    },
    stretch: () => 1,
    begins: () => true,
    failed: (error) => t.error(error),
    emit: (event) => void events.push(event),
    replyOf: () => reply,
    voice: (utterance, atMs) => void seen.push(`voice ${utterance} at ${atMs}`),
    voiced: () => {},
    heard: (utterance, text, verdict) => void seen.push(`heard ${utterance} ${text}: ${verdict}`),
    early: ({ text }) => void seen.push(`early ${text}`),
    resumed: (utterance) => void seen.push(`resumed ${utterance}`),
    quiet: (utterance) => void seen.push(`quiet ${utterance}`),
    over: () => void seen.push('over'),
    ...options,
  });
  t.teardown(() => ear.close());
  const hear = async (...audio: Int16Array[]): Promise<void> => {
    for (const samples of audio) ear.push(samples);
    await settled();
  };
  return {
    ear,
    clock,
    events,
    seen,
    hear,
    calls: () => asked,
    during: (other: SpokenReply | null) => void (reply = other),
    overs: () => seen.filter((one) => one === 'over').length,
  };
}

t.test('a finished text ends its turn after the silence, an unfinished one after 2.4 times that', async (t) => {
  for (const [text, base, after] of [
    ['We are done.', 500, 512],
    ['I would like to', 500, 1200],
    ['I would like to', 200, 480],
    ['I would like to', 3000, 3008],
    ['I would like to', 2000, 3008],
  ] as const) {
    const { ear, seen, hear, overs, events } = listening(t, [text], { turnSilenceMs: base });
    await hear(silence(320), voice(640), silence(after - 64));
    t.equal(overs(), 0, `${text} ${base}: not before`);
    await hear(silence(96));
    t.equal(overs(), 1, `${text} ${base}: then`);
    t.same(ear.take(), { text, fromMs: 320, toMs: 960 });
    t.equal(ear.take(), null);
    t.same(seen, [
      'voice 1 at 320',
      `heard 1 ${text}: counts`,
      `early ${text}`,
      `heard 1 ${text}: counts`,
      'quiet 1',
      'over',
    ]);
    t.match(events, [
      { type: 'speech.started', utterance: 1, at_ms: 320 },
      { type: 'speech.stopped', utterance: 1, at_ms: 960 },
      { type: 'transcript.final', utterance: 1, text, start_ms: 320, end_ms: 960, reason: 'silence', ignored: null },
    ]);
  }
});

t.test('a pause within the silence goes on with one utterance, whose early text is taken back', async (t) => {
  const { seen, hear, overs, calls } = listening(t, ['I would like to']);
  await hear(voice(640), silence(800), voice(320));
  t.equal(overs(), 0);
  t.same(seen, ['voice 1 at 0', 'heard 1 I would like to: counts', 'early I would like to', 'resumed 1']);
  await hear(silence(1300));
  t.equal(overs(), 1);
  t.equal(calls(), 2, 'the final is the decoding of the pause');
});

t.test('while no words are found at the beginning, they are looked for more often', async (t) => {
  for (const [empties, expected] of [
    [0, [352, 1_024, 1_504]],
    [1, [352, 480, 1_024, 1_504]],
    [9, [352, 480, 608, 736, 864, 992, 1_024, 1_504]],
  ] as const) {
    const looks: number[] = [];
    const { hear } = listening(t, [], {
      partials: true,
      transcribe: async (samples, _utterance, urgency) => {
        // Silence follows the speech.
        if (urgency === 'partial') looks.push(samples.findLastIndex((sample) => sample !== 0) / 16 + 1 / 16);
        return looks.length <= empties ? '' : 'stop';
      },
    });
    for (let ms = 0; ms < 2_000; ms += 32) await hear(voice(32));
    t.same(looks, expected, `${empties} without words`);
  }
});

t.test('the early text is that of the final, also where stable words were heard otherwise', async (t) => {
  const { ear, seen, hear, events } = listening(t, [], {
    partials: true,
    transcribe: async (_samples, _utterance, urgency) =>
      urgency === 'partial' ? 'we are open from nine until six today' : 'he are open from nine until six today',
  });
  for (let piece = 0; piece < 50; piece++) await hear(voice(100));
  await hear(silence(700));
  const final = events.at(-1)!;
  t.match(final, { type: 'transcript.final', text: /^we are open/ });
  t.ok(seen.includes(`early ${ear.text}`));
  t.equal(ear.take()?.text, 'text' in final && final.text);
});

t.test('a recogniser without early texts waits as long, over several utterances of one turn', async (t) => {
  const { ear, seen, hear, overs } = listening(t, ['I would like to', 'go home'], { repeats: false });
  await hear(voice(640), silence(1100));
  t.equal(overs(), 0);
  await hear(voice(320), silence(480));
  t.equal(overs(), 0);
  await hear(silence(64));
  t.equal(overs(), 1);
  t.same(ear.take(), { text: 'I would like to go home', fromMs: 0, toMs: 2048 });
  t.notOk(seen.some((one) => one.startsWith('early')));
});

t.test('an utterance that is cut at ten seconds goes on in the same turn, however late its text is', async (t) => {
  let say = (_text: string): void => {};
  const late = listening(t, [], {
    repeats: false,
    transcribe: (_, { number }) =>
      number === 1 ? new Promise((resolve) => (say = resolve)) : Promise.resolve('and the end'),
  });
  await late.hear(voice(11_000));
  await late.hear(voice(1_000));
  // The voice continues when the text of the cut arrives: the turn has not ended.
  say('A long story');
  await settled();
  t.equal(late.overs(), 0);
  await late.hear(silence(600));
  t.equal(late.overs(), 1);
  t.equal(late.ear.take()?.text, 'A long story and the end');
  const later = listening(t, [], {
    repeats: false,
    transcribe: (_, { number }) =>
      number === 1 ? new Promise((resolve) => (say = resolve)) : Promise.resolve('and the end'),
  });
  await later.hear(voice(11_000), silence(600));
  t.equal(later.overs(), 0);
  say('A long story');
  await settled();
  await later.hear(silence(64));
  t.equal(later.ear.busy, false);
  t.equal(later.overs(), 1);
  t.equal(later.ear.take()?.text, 'A long story and the end');
});

t.test('audio that does not come for a second counts as silence', async (t) => {
  const { clock, hear, overs } = listening(t, ['We are done.']);
  await hear(voice(640));
  clock.pass(999);
  await settled();
  t.equal(overs(), 0);
  clock.pass(1);
  await settled();
  t.equal(overs(), 1, 'the second itself counts');
  const waiting = listening(t, ['I would like to']);
  await waiting.hear(voice(640));
  waiting.clock.pass(1000);
  await settled();
  t.equal(waiting.overs(), 0);
  waiting.clock.pass(300);
  await settled();
  t.equal(waiting.overs(), 1);
  waiting.clock.pass(3_600_000);
  await settled();
  t.equal(waiting.overs(), 1);
});

t.test('voiced milliseconds grow with the voice', async (t) => {
  const voiced: number[] = [];
  const { hear } = listening(t, ['Yes'], { voiced: (_, ms) => void voiced.push(ms) });
  await hear(silence(320), voice(224), silence(160), voice(64));
  t.same(voiced, [64, 96, 128, 160, 192, 224, 256, 288]);
});

t.test('a flush puts the words in hand, in the middle of a word or in silence', async (t) => {
  const { ear, hear, overs, events } = listening(t, ['one moment', 'please']);
  await hear(voice(640));
  await ear.flush();
  t.equal(ear.take()?.text, 'one moment');
  t.match(events.at(-1), { type: 'transcript.final', reason: 'flush' });
  await ear.flush();
  t.equal(ear.take(), null);
  await hear(voice(320), silence(600));
  t.equal(overs(), 1);
  await ear.flush();
  t.equal(ear.take()?.text, 'please');
  const closing = ear.flush();
  ear.close();
  await closing;
  await ear.flush();
});

t.test('a transcription that fails is tried once more, then its final is empty', async (t) => {
  const { ear, hear, events, calls, overs } = listening(t, [new Error('no recogniser'), 'hello']);
  await hear(voice(640), silence(600));
  t.equal(calls(), 2);
  t.match(events.at(-1), { type: 'transcript.final', text: '', ignored: 'failed' });
  t.equal(overs(), 1);
  t.equal(ear.take(), null);
  await hear(voice(640), silence(600));
  t.match(events.at(-1), { type: 'transcript.final', text: 'hello', ignored: null });
});

t.test('words over a reply', async (t) => {
  const { ear, hear, events, during } = listening(t, ['okay', 'open from nine', 'stop']);
  during({ lately: 'We are open from nine to six.', lastSentence: 'We are open from nine to six.', outlasted: false });
  for (const ignored of ['backchannel', 'echo', null]) {
    await hear(voice(640), silence(1300));
    t.match(events.at(-1), { type: 'transcript.final', ignored });
  }
  t.equal(ear.take()?.text, 'stop');
});

t.test('a deaf ear hears what lasts longer than the deafness, from there on', async (t) => {
  const { ear, hear, events, seen } = listening(t, ['first', 'second']);
  await hear(voice(640));
  ear.deafen(true);
  await hear(voice(320), silence(600));
  t.match(events.at(-1), { type: 'transcript.final', end_ms: 960 }, 'an utterance under way is heard to its end');
  seen.length = 0;
  await hear(voice(640), silence(600), voice(640));
  t.same(seen, []);
  ear.deafen(false);
  await hear(voice(320));
  t.match(seen, [/^voice 2 at 34/]);
});

t.test('words are put back before those that came since, and a message has 8,000 characters at most', async (t) => {
  const { ear, hear, overs } = listening(t, ['first', 'second', 'word '.repeat(1_700).trim()]);
  await hear(voice(640), silence(600));
  const words = ear.take()!;
  await hear(voice(640), silence(600));
  ear.putBack(words);
  t.equal(ear.text, 'first second');
  t.equal(ear.take()?.text, 'first second');
  await hear(voice(320), silence(320));
  await ear.flush();
  const [one, other] = [ear.take()!.text, ear.take()!.text];
  t.ok(one.length <= 8000 && one.endsWith('word'));
  t.equal(`${one} ${other}`, 'word '.repeat(1_700).trim());
  t.equal(overs(), 2);
});

t.test('a clear drops what was said behind the last flush, and nothing that comes after', async (t) => {
  const { ear, seen, hear, events, calls } = listening(t, ['Hello.', 'Go.', 'Stay.']);
  ear.push(voice(640));
  const flushed = ear.flush();
  ear.push(voice(640));
  const cleared = ear.clear();
  ear.push(voice(320));
  await flushed;
  t.equal(ear.text, 'Hello.', 'the flush does not wait for the audio behind it');
  await cleared;
  await hear(silence(600));
  t.same(
    events.filter(({ type }) => type === 'transcript.final').map((event) => 'text' in event && event.text),
    ['Hello.', 'Go.'],
    'audio that was not looked at is no utterance',
  );
  await hear(voice(640));
  const again = ear.clear();
  await again;
  await hear(silence(600));
  t.match(
    events.at(-1),
    { type: 'transcript.final', utterance: 3, text: '', reason: 'flush', ignored: null },
    'an utterance under way has no words',
  );
  t.equal(ear.text, 'Hello. Go.');
  t.equal(calls(), 2, 'and is not transcribed');
  t.equal(seen.filter((one) => one === 'over').length, 1);
  const before = ear.text;
  ear.push(voice(3008));
  await ear.clear();
  await hear(voice(640));
  ear.push(voice(1600));
  await ear.clear();
  await hear(silence(600));
  t.equal(ear.text, before, 'nor has one that ends in the silence of what is dropped');
  const waits = [ear.flush(), ear.flush(), ear.clear(), ear.clear()];
  await Promise.all(waits);
});
