/** Patterns of a schema: read and never built, and classified as the engine classifies them. */
import fc from 'fast-check';
import t from 'tap';
import { isPattern } from '../../../src/providers/tool/pattern.ts';
import { isSchema } from '../../../src/providers/tool/schema.ts';
import { growthOfWork } from '../../linear/growth.ts';

const isBuilt = (text: string): boolean => {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
};

/** Pieces of patterns, good and bad. */
const pieces = [
  ...[
    'a',
    'é',
    '😀',
    '-',
    ',',
    '=',
    '!',
    '<',
    '>',
    ':',
    '0',
    '9',
    '/',
    '.',
    '^',
    '$',
    '*',
    '+',
    '?',
    '|',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    '\\',
    '[^',
    '(?:',
    '(?=',
    '(?!',
    '(?<=',
    '(?<!',
    '(?<n>',
    '(?<m>',
    '(?i:',
  ],
  ...[
    '{1}',
    '{1,}',
    '{1,2}',
    '{2,1}',
    '{,1}',
    '{a}',
    '*?',
    '??',
    '\\d',
    '\\D',
    '\\w',
    '\\s',
    '\\b',
    '\\B',
    '\\-',
    '\\/',
    '\\.',
    '\\a',
    '\\_',
    '\\0',
    '\\00',
    '\\1',
    '\\2',
    '\\12',
    '\\k',
    '\\k<n>',
    '\\k<o>',
    '\\cA',
    '\\c',
    '\\c1',
  ],
  ...[
    '\\x41',
    '\\x4',
    '\\u0041',
    '\\u004',
    '\\u{41}',
    '\\u{10ffff}',
    '\\u{110000}',
    '\\u{}',
    '\\ud83d\\ude00',
    '\\ud83d',
    '\\p{L}',
    '\\P{Lu}',
    '\\p{Script=Han}',
    '\\p',
    '\\p{',
    'a-z',
    'z-a',
    '\\d-a',
    'a-\\d',
    '[a-z]',
    '[z-a]',
    '[]',
    '[^]',
    '[\\b]',
    '[\\B]',
    '[a-]',
    '[-a]',
    '[[]',
  ],
];

t.test('a pattern is told from another text as the engine tells it', async (t) => {
  const text = fc.array(fc.constantFrom(...pieces), { maxLength: 7 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(text, (one) => {
      // The names of properties are not looked up.
      fc.pre(!/\\[pP]\{(?!L\}|Lu\}|Script=Han\})/.test(one));
      return isPattern(one) === isBuilt(one);
    }),
    { numRuns: 20_000, seed: 41 },
  );
  for (const piece of pieces)
    for (const around of ['', 'a', '(', '['])
      t.equal(isPattern(around + piece), isBuilt(around + piece), around + piece);
});

t.test(
  'a schema with a text that is no pattern is refused, and so is one that is too large or too deep, whatever is in it',
  async (t) => {
    const of = (pattern: unknown): object => ({ type: 'object', properties: { a: { type: 'string', pattern } } });
    const nested = (depth: number): object =>
      JSON.parse(`{"type":"object","default":${'['.repeat(depth)}${']'.repeat(depth)}}`) as object;
    t.ok(isSchema(of('^[a-z]+$')));
    t.ok(isSchema(of('[\\p{L}\\p{N}]')));
    for (const pattern of ['(', '[', '*', 'a{2,1}', '\\', 5, null]) t.notOk(isSchema(of(pattern)), String(pattern));
    t.notOk(isSchema(of('[\\p{L}]'.repeat(2_400))), 'over 16 KiB');
    t.ok(isSchema(nested(100)));
    for (const depth of [250, 5_000, 100_000]) t.notOk(isSchema(nested(depth)), `${depth} deep`);
  },
);

for (const [name, make] of Object.entries<(length: number) => string>({
  classes: (length) => '[\\p{L}]'.repeat(length / 7),
  groups: (length) => '('.repeat(length),
  'closed groups': (length) => '('.repeat(length / 2) + ')'.repeat(length / 2),
  'named groups': (length) => Array.from({ length: length / 10 }, (_, at) => `(?<n${at}>a)`).join(''),
  'a class that never ends': (length) => `[${'a-'.repeat(length / 2)}`,
  'a name that never ends': (length) => `(?<${'n'.repeat(length)}`,
  zeros: (length) => `\\u{${'0'.repeat(length)}`,
  references: (length) => '\\1'.repeat(length / 2),
})) {
  t.test(`[R3] a pattern of ${name} is read in time that grows with its length alone`, async (t) => {
    t.equal(
      await growthOfWork((length) => {
        const text = make(length);
        return () => isPattern(text);
      }),
      null,
    );
  });
}
