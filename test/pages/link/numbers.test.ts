/** Numbers of the pre-chat form, as people write them anywhere. */
import t from 'tap';
import { numberOf } from '../../../src/pages/link/numbers.ts';

t.test('a number is read in the digits of any script and with the marks of any country', async (t) => {
  const rows: readonly (readonly [string, number])[] = [
    ['42', 42],
    [' 42 ', 42],
    ['-1.5', -1.5],
    ['+3', 3],
    ['12,5', 12.5],
    ['0,5', 0.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['４２', 42],
    ['１２．５', 12.5],
    ['１２，５', 12.5],
    ['－７', -7],
    ['１，２３４，５６７', 1_234_567],
    ['　４２　', 42],
    ['٤٢', 42],
    ['١٢٫٥', 12.5],
    ['١٬٢٣٤', 1234],
    ['١٬٢٣٤٫٥', 1234.5],
    ['١٢،٥', 12.5],
    ['؜-٧', -7],
    ['\u200f٤٢\u200f', 42],
    ['۴۲', 42],
    ['۱۲٫۵', 12.5],
    ['४२', 42],
    ['๔๒', 42],
    ['𝟒𝟐', 42],
    ['𑁧', 1],
    ['1.234,5', 1234.5],
    ['1,234.5', 1234.5],
    ['1.234.567', 1_234_567],
    ['1,234,567.89', 1_234_567.89],
    ['12,34,567.5', 1_234_567.5],
    ['1 234,5', 1234.5],
    ['1 234', 1234],
    ['1\u202f234', 1234],
    ["1'234.5", 1234.5],
    ['1’234', 1234],
    ['−3', -3],
  ];
  for (const [text, value] of rows) t.equal(numberOf(text), value, text);
});

t.test('only a number is read', async (t) => {
  for (const text of [
    '',
    ' ',
    'twelve',
    '四十二',
    '1.2.3',
    '1,2,3.4',
    '1.234,5.6',
    '12:30',
    '1/2',
    '1-2',
    '٤٢ ريال',
    '.',
    '-',
    ',',
    '1..2',
  ])
    t.ok(Number.isNaN(numberOf(text)), text);
});
