/** The synthetic voice: names that say how long each character lasts, and which text each utterance has. */
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { syntheticVoice } from '../../../src/providers/voice/synthetic.ts';

const clock = new WheelClock();
const voice = syntheticVoice(clock);
const access = { baseUrl: null, apiKey: null };
t.teardown(() => clock.stop());

async function speak(text: string, name: string, more: object = {}) {
  const { pieces, words, sampleRate } = await voice.speak({
    caller: 'w',
    text,
    index: 0,
    name,
    voice: null,
    speed: 1,
    access,
    awaited: true,
    signal: new AbortController().signal,
    ...more,
  });
  let samples = 0;
  for await (const piece of pieces) samples += piece.length;
  return {
    ms: (samples * 1000) / sampleRate,
    words: words?.map(({ from, to }) => [(from * 1000) / sampleRate, (to * 1000) / sampleRate]),
  };
}

t.test('a sentence lasts so long for each code point, and its words in proportion', async (t) => {
  t.same(await speak('Hi, you 🎉!', 'character_ms=60', { timed: true }), {
    ms: 600,
    words: [
      [0, 180],
      [240, 420],
      [480, 600],
    ],
  });
  t.same(await speak('Hi, you!', 'character_ms=60'), { ms: 480, words: undefined });
  t.same(await speak('Hi, you!', 'character_ms=60,audio_ms=100', { speed: 2 }), { ms: 240, words: undefined });
  t.same(await speak('ab cd', 'audio_ms=500', { timed: true }), {
    ms: 500,
    words: [
      [0, 200],
      [300, 500],
    ],
  });
  t.same((await speak('Hello', 'character_ms=0', { timed: true })).words, [[0, 0]]);
});

t.test('a text for each utterance', async (t) => {
  const texts = (name: string | null, speechName: string | null = null): Promise<string[]> =>
    Promise.all(
      [0, 1, 2, 3].map((index) =>
        voice.transcribe({
          caller: 'w',
          samples: new Int16Array(0),
          index,
          draft: { tokens: [] },
          name,
          speechName,
          language: null,
          urgency: 'final',
          access,
          signal: new AbortController().signal,
        }),
      ),
    );
  t.same(await texts('texts=one_two|three'), ['one two', 'three', 'three', 'three']);
  t.same(await texts('texts=a||b|,text=other'), ['a', '', 'b', '']);
  t.same(await texts('texts='), ['', '', '', '']);
  t.same(await texts('text=one'), ['one', 'one', 'one', 'one']);
  t.same(await texts(null, 'fail_at=0,texts=one|two'), ['one', 'two', 'two', 'two'], 'of the name that speaks');
  t.same(await texts('delay_ms=0', 'texts=one'), Array(4).fill('synthetic'), 'where there is no other');
});

t.test('names that are not read', async (t) => {
  const refused = (field: object) =>
    voice.refusedField!({ name: null, transcriptionName: null, voice: null, ...field });
  for (const name of ['character_ms=1001', 'character_ms=-1', 'character_ms=', `texts=${'a'.repeat(1_001)}`, 'texts'])
    t.equal(refused({ name }), 'name', name);
  t.equal(refused({ transcriptionName: 'texts=one_two|three' }), null);
});
