/** The text that was heard of a sentence, by the samples that were played. */
import t from 'tap';
import { codePoints } from '../../../src/base/text.ts';
import { Sounds } from '../../../src/providers/voice/audio/sounds.ts';
import { englishOf } from '../../../src/providers/voice/english.ts';
import { heardAt, planOf, spansInProportion } from '../../../src/providers/voice/plan.ts';
import { wordsOf } from '../../../src/providers/voice/sentences.ts';
import { speakableText } from '../../../src/providers/voice/speakable.ts';
import { tone } from './sounds.ts';

/** A plan in which each piece of the text as spoken lasts 100 samples. */
function plan(raw: string, from = 0) {
  const said = englishOf(speakableText(raw));
  const pieces = said.split(' ');
  return planOf(
    { from, raw, spokenText: said },
    pieces.map((_, index) => ({ from: index * 100, to: (index + 1) * 100 })),
    pieces.length * 100,
    englishOf,
  );
}

/** The texts that are heard one after another, the samples from which they are. */
function steps(raw: string): [number, string][] {
  const planned = plan(raw);
  const points = Array.from(raw);
  const found: [number, string][] = [];
  for (let samples = 0; samples <= planned.samples; samples++) {
    const text = points.slice(0, heardAt(planned, samples)).join('');
    if (text !== (found.at(-1)?.[1] ?? '')) found.push([samples, text]);
  }
  return found;
}

t.test('a word counts once half of it was played', async (t) => {
  for (const [raw, ...heard] of [
    ['Hello, there!', [50, 'Hello,'], [150, 'Hello, there!']],
    ['  Hello  there ', [50, '  Hello'], [150, '  Hello  there']],
    [
      'It is **very** good 🎉🎉 - yes',
      [50, 'It'],
      [150, 'It is'],
      [250, 'It is **very**'],
      [350, 'It is **very** good 🎉🎉 -'],
      [550, 'It is **very** good 🎉🎉 - yes'],
    ],
    [
      'See [our page](https://example.com/a) now',
      [50, 'See'],
      [150, 'See [our'],
      [250, 'See [our page](https://example.com/a)'],
      [350, 'See [our page](https://example.com/a) now'],
    ],
    ['It costs €5 today', [50, 'It'], [150, 'It costs'], [300, 'It costs €5'], [450, 'It costs €5 today']],
    ['Add ½ cup', [50, 'Add'], [200, 'Add ½'], [350, 'Add ½ cup']],
    ['🎉 Hello', [50, '🎉 Hello']],
    ['- one', [50, '- one']],
  ] as const)
    t.same(steps(raw), heard, raw);
});

t.test('a script without spaces', async (t) => {
  const raw = '今日は、東京です。 สวัสดีครับ ok';
  const planned = planOf(
    { from: 0, raw, spokenText: raw },
    wordsOf(raw).map((_, index) => ({ from: index * 100, to: (index + 1) * 100 })),
    10_000,
  );
  const heard = planned.words.map(({ textEnd }) => Array.from(raw).slice(0, textEnd).join(''));
  t.ok(heard.length > 4, 'more words than pieces');
  t.ok(heard.includes('今日は、'));
  t.ok(heard.includes('今日は、東京です。'));
  t.equal(heard.at(-1), raw);
});

t.test('text that is not said belongs to the word before, also of the sentence before', async (t) => {
  const planned = plan('👍🏽 So be it. ', 10);
  t.equal(heardAt(planned, 0), 12);
  t.equal(heardAt(planned, 50), 15);
  t.equal(heardAt(planned, 1_000), 10 + codePoints('👍🏽 So be it.'));
  t.equal(planned.to, 10 + codePoints('👍🏽 So be it. '));
});

t.test('positions never go back, end no word in its middle, and take any text', async (t) => {
  for (const raw of ['', '...', 'no\u{1F600}gap', 'a '.repeat(100), '5 € 10 % x² **', '🎉 '.repeat(20_000)]) {
    const planned = plan(raw, 3);
    let last = 0;
    for (let samples = 0; samples <= planned.samples; samples += 7) {
      const at = heardAt(planned, samples);
      t.ok(at >= last && at <= planned.to, 'no way back');
      last = at;
      const text = Array.from(raw)
        .slice(0, at - 3)
        .join('');
      if (text !== '' && (/\s$/u.test(text) || /^\S/u.test(raw.slice(text.length)))) t.fail(`"${text}" of "${raw}"`);
    }
  }
});

t.test('in proportion to characters between the first sound and the last, and the pauses', async (t) => {
  const sounds = (...ms: number[]): Sounds => {
    const found = new Sounds(1000);
    for (const [index, length] of ms.entries())
      found.push(index % 2 === 0 ? new Int16Array(length) : tone(100, 1000, length));
    return found;
  };
  const spans = (text: string, heard: Sounds) => spansInProportion(text, heard).map(({ from, to }) => [from, to]);
  t.same(spans('abcd ef', sounds(200, 600, 300)), [
    [200, 600],
    [600, 800],
  ]);
  t.same(
    spans('ab, c def', sounds(100, 300, 200, 400)),
    [
      [100, 400],
      [600, 700],
      [700, 1000],
    ],
    'a pause at its comma',
  );
  t.same(
    spans('abc def', sounds(100, 300, 200, 300)),
    [
      [100, 400],
      [600, 900],
    ],
    'a pause without one lies between',
  );
  t.same(spans('ab', sounds(100, 300, 50, 300)), [[100, 750]], 'a short gap is no pause');
  t.same(spans('ab', sounds(500)), [[0, 500]], 'silence');
  t.same(spans('ab', sounds()), [[0, 0]], 'nothing');
});
