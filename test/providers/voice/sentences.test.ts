import fc from 'fast-check';
import t from 'tap';
import { sentencesOf } from '../../../src/providers/voice/sentences.ts';
import { sentencesAndCode } from '../../../src/providers/voice/sound.ts';
import { speakableText } from '../../../src/providers/voice/speakable.ts';

const pointsOf = (text: string): number => Array.from(text).length;

/** Each text is the pieces joined, so only the pieces are written. */
const texts: Record<string, string[]> = {
  'short sentences stay apart': ['Hi. ', 'There.'],
  'questions and exclamations': ['Well?! ', 'No way! ', 'Yes'],
  titles: ['Dr. Smith met Mrs. Jones and Prof. Lee. ', 'They talked.'],
  initials: ['It is by J. R. R. Tolkien. ', 'J. K. Rowling wrote another.'],
  countries: ['He joined the U.S. Army. ', 'Then he left.'],
  months: ['We met on Jan. 5. ', 'It rained.'],
  Latin: ['Fruit, e.g. Bananas, i.e. Yellow ones, cf. Smith vs. Jones, etc. Paris too. ', 'Done.'],
  capitals: ['DR. SMITH IS IN. ', 'GO.'],
  'in brackets': ['They came (Mr. Smith too). ', 'Good.'],
  'a number': ['See No. 5 and Fig. 2. ', 'It is 3.14.'],
  'a word that is short only before a number': ['No. ', 'I will not.'],
  'a word that only ends like an abbreviation': ['It is the best. ', 'Make your code. ', 'Rest.'],
  'a line break ends an abbreviation': ['Pens, etc.\n', 'Next line'],
  lines: ['# Title\n', 'One\n', 'two'],
  'empty lines belong to the line before': ['One.\n\n\n', 'Two.'],
  'pictures and dots belong to the piece before': ['Yes! 👍 \n... ', 'No.'],
  'at the start, to the piece after': ['... 👍\n\nYes. ', 'No.'],
  'the end of bold text': ['- **It is so.** ', 'Text. ', '_Another._ ', 'End.'],
  'nothing to say': ['... 👍'],
  'other scripts': ['日本語。', '次の文。'],
  'an address goes on behind its signs': ['See https://example.com/a?b=c!d. ', 'Or www.example.com/?q=a.b. ', 'Bye.'],
  'an address in brackets': [
    'Read [the docs](https://example.com/search?q=a&page=2). ',
    'Then (https://example.com/?a). ',
    'Bye.',
  ],
  'an address before a script without spaces': ['見て https://example.com/?a=b。', '次の文。'],
};

t.test('a text is split into sentences', async (t) => {
  for (const [name, pieces] of Object.entries(texts)) t.same(sentencesOf(pieces.join('')), pieces, name);
  t.same(sentencesOf(''), [], 'no text');
});

t.test('a long sentence is cut', async (t) => {
  const words = `${'word '.repeat(100)}end.`;
  t.same(sentencesOf(words).map(pointsOf), [200, 200, 104], 'at white space');
  t.same(sentencesOf(`${'x'.repeat(198)} yes no.`).map(pointsOf), [199, 7], 'at the last that fits');
  t.same(sentencesOf('x'.repeat(450)).map(pointsOf), [200, 200, 50], 'where there is none, at 200');
  t.same(sentencesOf('𝒳'.repeat(250)), ['𝒳'.repeat(200), '𝒳'.repeat(50)], 'by code points, not through one');
  t.same(sentencesOf('x'.repeat(200)).length, 1, '200 are not too many');
  const address = `https://example.com/?${'x=1&'.repeat(100)}`;
  t.same(sentencesOf(`See ${address} now. Bye.`), ['See ', `${address} `, 'now. ', 'Bye.'], 'not through an address');
  t.same(sentencesOf(`${'x'.repeat(200)} `).length, 1, 'nor with white space after them');
  t.same(sentencesOf(`Hello${'.'.repeat(500)}`).length, 1, 'what is not said does not count');
});

t.test('the pieces are the text, each has something to say, none is long', async () => {
  const bits = fc.constantFrom(
    'Dr. ',
    'etc. ',
    'word ',
    'No. ',
    '5 ',
    '. ',
    '! ',
    '\n',
    '\n\n',
    '👍',
    '👨‍👩‍👧 ',
    'x'.repeat(150),
    'é',
    '"',
    ')',
    '*',
    ' ',
    'U.S. ',
    'A',
    '\ud83d',
    '\udc4d',
  );
  const text = fc.oneof(
    fc.array(bits, { maxLength: 40 }).map((parts) => parts.join('')),
    fc.string({ unit: 'binary', maxLength: 300 }),
  );
  fc.assert(
    fc.property(text, (text) => {
      const pieces = sentencesOf(text);
      const sayable = (piece: string): boolean => /[\p{L}\p{N}]/u.test(piece);
      const long = (piece: string): boolean => pointsOf(piece.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')) > 200;
      const counted = pieces.reduce((sum, piece) => sum + pointsOf(piece), 0);
      return (
        pieces.join('') === text &&
        counted === pointsOf(text) &&
        (pieces.length < 2 || pieces.every(sayable)) &&
        !pieces.some(long)
      );
    }),
    { numRuns: 2000 },
  );
});

t.test('text that is spoken', async (t) => {
  const said: Record<string, string> = {
    'Plain text, (really) "so": 5 % & more.': 'Plain text, (really) "so": 5 % & more.',
    '# Title\n\nText': 'Title Text',
    '**Bold**, *it*, __bold__, _it_, ~~no~~ and `code`': 'Bold, it, bold, it, no and code',
    '**Half of what is bold.': 'Half of what is bold.',
    'done** now': 'done now',
    '2 * 3 = 6, 5*3, snake_case, C#, #1, a < b > c': '2 * 3 = 6, 5*3, snake_case, C#, #1, a < b > c',
    'See [the docs](https://example.com/a_(b) "Title") or <https://example.com>': 'See the docs or example.com',
    'At https://www.example.com/a/b?c=d&e=%20#f, http://user@example.org:8080, or (www.example.net/a_b).':
      'At example.com, example.org, or (example.net).',
    '[https://example.com/a](https://example.com/a), <mailto:ada@example.com>, **https://example.com/**':
      'example.com, ada@example.com, example.com',
    '見てhttps://example.com/a。はい': '見てexample.com。はい',
    'A &amp; B &lt; C&nbsp;&#39;D&#x27; &euro;5 &unknown; &#9999999; AT&T':
      "A & B < C 'D' €5 &unknown; &#9999999; AT&T",
    '$$a + b$$ and $x$ or $x + y$, but $5 and $6, US$ and A$': 'a + b and x or x + y, but $5 and $6, US$ and A$',
    '![A cat](cat.png) sleeps': 'A cat sleeps',
    '- one\n* two\n+ three\n- [x] done\n1. four': 'one two three done 1. four',
    '> quoted\n>> twice\n\n---\n\nend': 'quoted twice end',
    '| a | b |\n|---|:-:|\n| c | d |': 'a, b c, d',
    '```js\nlet a = 1;\n```': 'let a = 1;',
    'one<br>two': 'one two',
    '\\*not bold\\*': 'not bold',
    'Hi 👋🏽, 👨‍👩‍👧 ❤️ 🇩🇪 bye': 'Hi , bye',
    '1️⃣ of ©, ™': '1 of ©, ™',
    'Wait........ what?!': 'Wait... what?!',
    '[](https://example.com)': '',
    '👍': '',
  };
  for (const [text, expected] of Object.entries(said)) t.equal(speakableText(text), expected, text);
});

t.test('blocks of code are announced', async (t) => {
  const table: Record<string, [string, string][]> = {
    'Run this:\n\n```sh\nnpm start\n```\n\nThen look.': [
      ['prose', 'Run this:\n\n'],
      ['opening', '```sh\n'],
      ['code', 'npm start\n```\n'],
      ['prose', '\nThen look.'],
    ],
    '~~~\na\n```\n~~~~': [
      ['opening', '~~~\n'],
      ['code', 'a\n```\n'],
      ['code', '~~~~'],
    ],
    '````\n```\n````\nEnd.': [
      ['opening', '````\n'],
      ['code', '```\n````\n'],
      ['prose', 'End.'],
    ],
    '1. ```js\n   a\n   ```\n> ```\n> b\n> ```\n': [
      ['opening', '1. ```js\n'],
      ['code', '   a\n   ```\n'],
      ['opening', '> ```\n'],
      ['code', '> b\n> ```\n'],
    ],
    'In ```one line``` it is text.': [['prose', 'In ```one line``` it is text.']],
    '```one line``` too': [['prose', '```one line``` too']],
    '```\nopen': [
      ['opening', '```\n'],
      ['code', 'open'],
    ],
    '```\r\na\r\n```\r\nEnd.': [
      ['opening', '```\r\n'],
      ['code', 'a\r\n```\r\n'],
      ['prose', 'End.'],
    ],
  };
  for (const [text, parts] of Object.entries(table)) {
    t.same(
      sentencesAndCode(text).map(({ kind, raw }) => [kind, raw]),
      parts,
      text,
    );
    t.equal(parts.map(([, raw]) => raw).join(''), text);
  }
});

t.test('every text is segmented in bounded time', async (t) => {
  for (const unit of [
    '-',
    '*',
    '_',
    '[',
    '](',
    '> ',
    '|---',
    ' ',
    '`',
    '[a](',
    '\\',
    '<br',
    '- -',
    '[a]((',
    '\u200d',
    '- [ ] ',
  ]) {
    const before = process.cpuUsage();
    speakableText(unit.repeat(1000 / unit.length) + 'x');
    sentencesOf(unit.repeat(1000 / unit.length) + 'x');
    t.ok(process.cpuUsage(before).user < 200_000, JSON.stringify(unit));
  }
});
