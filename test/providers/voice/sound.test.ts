/** The sound of a sentence has a bound for any text: a long one is cut into pieces, and no text is lost or changed. */
import t from 'tap';
import { codePoints } from '../../../src/base/text.ts';
import { openFlite } from '../../../src/providers/voice/engine/flite.ts';
import { englishOf } from '../../../src/providers/voice/english.ts';
import { SentenceStream } from '../../../src/providers/voice/sentence-stream.ts';
import { sentencesOf } from '../../../src/providers/voice/sentences.ts';
import { speakableText } from '../../../src/providers/voice/speakable.ts';
import { piecesOf, sayingOf, soundMs, type Saying, voicePieceMs } from '../../../src/providers/voice/sound.ts';

const piecesOfProse = (raw: string, saying: Saying) => piecesOf({ kind: 'prose', raw }, saying, '');

const english: Saying = { sayable: englishOf, spells: true };
const plain: Saying = sayingOf({});

/** The letters and digits that are spokenText. */
const bare = (spokenText: string): string => spokenText.replace(/[^\p{L}\p{N}]/gu, '');
const filled = (unit: string, points = 1000): string =>
  Array.from(unit.repeat(Math.ceil(points / codePoints(unit))))
    .slice(0, points)
    .join('');

/** Texts that sound for longer than they look, by what is in them. */
const long: Readonly<Record<string, string>> = {
  digits: filled('1234567890'),
  sevens: filled('7'),
  numbers: filled('777777 '),
  'sums of money': filled('$1,234,567.89 '),
  times: filled('12:34 '),
  'the letter w': filled('w'),
  'letters in capitals': filled('WXZQ'),
  'letters apart': filled('w, '),
  consonants: filled('bcdfg'),
  'a long word': filled('kqudxeyzjobi'),
  'signs with names': filled('a%&+='),
  'signs of mathematics': filled('√½≠∞'),
  backslashes: filled('\\7'),
  underscores: filled('a_b_'),
  'marks and digits': filled('?!7…'),
  'an address': filled('https://www.example.com/aB3x_9-kQ2?q=1&x=%20'),
  'a link': `[${filled('12345', 900)}](https://example.com/a)`,
  'bold numbers': filled('**1984** '),
  'a list': filled('7 - 8 + 9 * 10\n'),
  code: filled('x1=y2&&z3!==q4;'),
  identifiers: filled('550e8400-e29b-41d4-a716-446655440000 '),
  'emoji and digits': filled('👋7️⃣8'),
  'other digits': filled('٣٤٥'),
};

t.test('every piece of a text is short, and the pieces say what the sentence says', async (t) => {
  const speak = await openFlite();
  for (const [name, text] of Object.entries(long)) {
    const sentences = sentencesOf(text);
    let longest = { seconds: 0, spokenText: '' };
    for (const sentence of sentences) {
      const pieces = piecesOfProse(sentence, english);
      t.equal(pieces.map(({ raw }) => raw).join(''), sentence, `${name}: nothing is lost`);
      t.equal(
        bare(pieces.map(({ spokenText }) => spokenText).join('')),
        bare(englishOf(speakableText(sentence))),
        `${name}: all is spokenText`,
      );
      const { spokenText } = pieces.toSorted(
        (a, b) => soundMs(b.spokenText, english) - soundMs(a.spokenText, english),
      )[0]!;
      t.ok(soundMs(spokenText, english) <= voicePieceMs, `${name}: ${spokenText}`);
      // The first sentences are spoken: the others are like them.
      if (spokenText === '' || sentences.indexOf(sentence) > 0) continue;
      const { samples, sampleRate } = speak(spokenText, { name: 'kal16', file: null }, 1, false);
      if (samples.length / sampleRate > longest.seconds) longest = { seconds: samples.length / sampleRate, spokenText };
    }
    t.ok(
      longest.seconds > 0 && longest.seconds * 1000 < 1.5 * voicePieceMs,
      `${name}: ${longest.seconds.toFixed(1)} s of ${longest.spokenText}`,
    );
  }
});

t.test('an ordinary sentence is one piece', (t) => {
  for (const sentence of [
    'The quick brown fox jumps over the lazy dog while seventeen purple elephants are quietly discussing the weather of next week, and nobody in the whole village has any idea what they should do.',
    'STAY WHERE YOU ARE, AND DO NOT LEAVE THE BUILDING UNTIL SOMEBODY TELLS YOU THAT YOU MAY.',
    'You can reach us Monday to Friday between 9 and 17:30 at 030 1234567, or by mail at hello@example.com.',
    'The function returns x + y if a == b && c != d, otherwise it ends with code E_INVALID_ARG and status 422.',
    'Visit https://www.example.com/docs/getting-started?lang=en#install for more.',
    'Die Donaudampfschifffahrtsgesellschaft hat heute geschlossen.',
    '今日は天気がいいので、公園を散歩してから、友達と一緒に新しいレストランで昼ごはんを食べました。',
  ]) {
    t.same(piecesOfProse(sentence, english).length, 1, sentence);
    t.same(piecesOfProse(sentence, plain), [{ raw: sentence, spokenText: speakableText(sentence) }]);
  }
  t.same(piecesOfProse(filled('x', 200), plain).length, 1, 'a voice that does not spell says a word as it stands');
  t.same(piecesOfProse('👋', english), [{ raw: '👋', spokenText: '' }]);
  t.end();
});

t.test(
  'a long sentence is cut at the end of a clause, else between words, and within a row of digits so that they are read one by one',
  (t) => {
    const raws = (text: string): string[] => piecesOfProse(text, english).map(({ raw }) => raw);
    const years = 'in 1901 and 1902 and 1903 and 1904 and 1905 and 1906';
    t.same(raws(`${years}, ${years}.`), [`${years}, `, `${years}.`]);
    const words = filled('1984 ', 60).trim();
    t.ok(raws(words).length > 1 && raws(words).every((raw) => /^(1984 ?)+$/.test(raw)), 'between words');
    t.ok(
      raws(filled('1234567890', 200)).every((raw) => raw.length > 12),
      'a number of twelve digits would be read as a number',
    );
    t.end();
  },
);

t.test('sentences of a reply are as short, and their places have no gap', (t) => {
  for (const [name, text] of Object.entries(long)) {
    const stream = new SentenceStream(english);
    const planned = [...stream.push(text, 0), ...stream.end()];
    while (stream.isBehind) planned.push(...stream.look(0));
    let at = 0;
    for (const { from, raw, spokenText } of planned) {
      t.equal(from, at, name);
      t.ok(soundMs(spokenText, english) <= voicePieceMs, name);
      at += codePoints(raw);
    }
    t.equal(planned.map(({ raw }) => raw).join(''), text, name);
  }
  t.end();
});
