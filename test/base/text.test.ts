/** Positions in a text. */
import fc from 'fast-check';
import t from 'tap';
import { codePoints, indexAfter, textBehind } from '../../src/base/text.ts';

const units = fc.oneof(
  fc.constantFrom(0x61, 0xe9, 0x20ac),
  fc.integer({ min: 0xd7ff, max: 0xe000 }),
  fc.integer({ min: 0, max: 0xffff }),
);
const latin = fc.integer({ min: 0, max: 0xff });
const texts = fc
  .oneof(fc.array(units, { maxLength: 40 }), fc.array(latin, { maxLength: 40 }))
  .map((codes) => String.fromCharCode(...codes));

t.test('characters are code points, and a lone surrogate is one', async (t) => {
  t.same(
    ['', 'abc', 'naïve', '€', '😀', '😀'[0], `${'😀'[1]}${'😀'[0]}`, `a${'😀'[0]}😀`].map((text) => codePoints(text!)),
    [0, 3, 5, 1, 1, 1, 2, 3],
  );
  fc.assert(fc.property(texts, (text) => codePoints(text) === Array.from(text).length));
  t.same(
    [
      indexAfter('abc', 0),
      indexAfter('abc', 2),
      indexAfter('abc', 9),
      indexAfter('a😀c', 2),
      textBehind('abc', 4),
      textBehind('abc', 3),
    ],
    [0, 2, 3, 3, null, ''],
  );
  fc.assert(
    fc.property(texts, texts, (front, back) => {
      const count = codePoints(front);
      const all = front + back;
      const joins = Array.from(all).length < count + Array.from(back).length;
      return joins || (indexAfter(all, count) === front.length && textBehind(all, count) === back);
    }),
  );
});
