/** Word times of the embedded voice: the sounds of each word are found among the sounds of the sentence. */
import t from 'tap';
import { openFlite } from '../../../src/providers/voice/engine/flite.ts';
import { PhonesOfWords, phonesIn, spansOfWords, type Phone } from '../../../src/providers/voice/engine/word-spans.ts';
import { englishOf } from '../../../src/providers/voice/english.ts';

const voice = { name: 'slt', file: null };
/** Sounds of 100 ms each; a `.` is a pause. */
const phones = (names: string): Phone[] =>
  Array.from(names, (name, index) => ({ name: name === '.' ? 'pau' : name, end: (index + 1) / 10 }));
const audio = (ms: number) => ({ samples: new Int16Array(ms), sampleRate: 1000 });
const words = (text: string): string[][] => text.split(' ').map((word) => Array.from(word));

t.test("flite's spans are read from what it prints", async (t) => {
  t.same(phonesIn('pau:0.193 d:0.218 \n\npau:0.1 hh:0.2 pau:0.301 \n'), [
    [
      { name: 'pau', end: 0.193 },
      { name: 'd', end: 0.218 },
    ],
    [
      { name: 'pau', end: 0.1 },
      { name: 'hh', end: 0.2 },
      { name: 'pau', end: 0.301 },
    ],
  ]);
  t.same(phonesIn(''), []);
});

t.test('spans of words cover the speech', async (t) => {
  const spans = (expected: string, heard: string[], ms: number) =>
    spansOfWords(words(expected), heard.map(phones), audio(ms)).map(({ from, to }) => [from, to]);
  t.same(spans('ab c', ['.abc.'], 500), [
    [100, 300],
    [300, 400],
  ]);
  t.same(
    spans('ab c', ['.ab.c.'], 600),
    [
      [100, 300],
      [400, 500],
    ],
    'a pause belongs to no word',
  );
  t.same(
    spans('ab c', ['.ab.', '.c.'], 700),
    [
      [100, 300],
      [500, 600],
    ],
    'the second utterance begins behind the first',
  );
  t.same(
    spans('ab c', ['.ab.', '.c.'], 600),
    [
      [100, 300],
      [450, 550],
    ],
    'half of each last pause is spoken',
  );
  t.same(
    spans('ab cd ef', ['.axbcd.'], 700),
    [
      [100, 400],
      [400, 600],
      [600, 600],
    ],
    'sounds of another word',
  );
  t.same(
    spans('ab  c', ['.abc.'], 500),
    [
      [100, 300],
      [300, 300],
      [300, 400],
    ],
    'a word without a sound',
  );
  t.same(spans('ab', [], 500), [[0, 0]]);
});

t.test('a word is spoken alone once, and the latest are kept', async (t) => {
  let asked: string[][] = [];
  const of = new PhonesOfWords((some) => {
    asked.push([...some]);
    // "a.b" is two utterances.
    return some.flatMap((word) => word.split('.').map(phones));
  });
  t.same(of.of(['one', 'two', 'one'], voice), words('one two one'));
  t.same(of.of(['two', 'a.b'], voice), [
    ['t', 'w', 'o'],
    ['a', 'b'],
  ]);
  t.same(of.of(['three', 'a.c'], voice), [
    ['t', 'h', 'r', 'e', 'e'],
    ['a', 'c'],
  ]);
  t.same(asked, [['one', 'two'], ['a.b'], ['three', 'a.c'], ['three'], ['a.c']]);
  of.of(
    Array.from({ length: 5_000 }, (_, number) => `w${number}`),
    voice,
  );
  asked = [];
  of.of(['one', 'w4999'], voice);
  t.same(asked, [['one']]);
});

t.test('flite prints the spans that are read', async (t) => {
  const speak = await openFlite();
  for (const name of ['slt', 'kal16']) {
    const text = englishOf('Dr. Smith paid €25, and we said: hello there. It was 1999.');
    const { samples, sampleRate, words: spans } = speak(text, { name, file: null }, 1, true);
    const pieces = text.split(' ');
    t.equal(spans!.length, pieces.length);
    for (const [index, { from, to }] of spans!.entries()) {
      t.ok(from < to && to <= samples.length, pieces[index]!);
      t.ok(from >= (spans![index - 1]?.to ?? 0), `${pieces[index]} follows`);
    }
    // Sounds of the utterance; words cover all of it except the pauses.
    const level = (at: number): number =>
      Math.sqrt(
        samples.subarray(at, at + sampleRate / 50).reduce((sum, sample) => sum + sample ** 2, 0) / (sampleRate / 50),
      );
    const [said, hello] = ['said:', 'hello'].map((word) => spans![pieces.indexOf(word)]!);
    t.ok(
      level((said!.to + hello!.from) / 2) < level((hello!.from + hello!.to) / 2) / 10,
      'a pause lies between the clauses',
    );
    t.same(samples, speak(text, { name, file: null }, 1, false).samples, 'the audio is the same without');
  }
});

t.test('flite says the last word, alone behind a colon as well', async (t) => {
  const speak = await openFlite();
  for (const text of ['We said: hello.', 'Ready. Yes', 'Note: done!', 'Hello']) {
    for (const { from, to } of speak(text, voice, 1, true).words!) t.ok(from < to, text);
  }
});
