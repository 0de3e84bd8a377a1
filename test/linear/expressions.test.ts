/** [R3] Every regular expression of the source, on texts made for it. */
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { readTree } from '../tidy/tree.ts';
import { growthOf, growthOfWork } from './growth.ts';
import { builtOnes, literalsOf, patternsOfShapes } from './list.ts';
import { textOf } from './attacks.ts';

/** Expressions that take more steps than in proportion to a text, each with a text on which it does. */
const planted: readonly (readonly [RegExp, isGlobal?: boolean])[] = [
  [/(a+)+$/],
  [/^(?:a|a)*b/],
  [/\s+$/],
  [/=+$/],
  [/^\s*(?:none)?\s*$/i],
  [/exceed\w*.{0,40}(?:limit|context)/i],
  [/!?\[([^\]\n]*)\]\(/gu, true],
  [/[ \t]+\|[ \t]+/gu, true],
  [/how big\b.*\brequests/i],
  [/(\S+):(\d+)/g, true],
  [/^(.*?)(\S*)$/],
  [/\{([^}]+)\}/],
  [/(?<=a.*)b/],
  [/(x?)x*\1y/],
  [/\B(?=(\d{3})+$)/g, true],
  [/.*,.*,.*;/],
  [/\}\s*(?:(?:event|data)?:[^\n]*\s*)*$/],
];

/** Expressions that look alike, and whose steps grow with the text alone. */
const linear: readonly (readonly [RegExp, isGlobal?: boolean])[] = [
  [/^(?:a|b)*c/],
  [/(?<!\s)\s+$/],
  [/(?<!=)=+$/],
  [/\S+\s*/g, true],
  [/!?\[([^[\]\n]*)\]\(/gu, true],
  [/how big\b.{0,60}\brequests/i],
  [/^[^\s@]+@[^\s@]+$/],
  [/\?[^?\w]*$/],
];

t.test('the count of steps finds each planted expression whose work grows faster than the text', async (t) => {
  for (const [expression, isGlobal = false] of planted)
    t.not(growthOf(expression, isGlobal).worse, null, String(expression));
  for (const [expression, isGlobal = false] of linear)
    t.equal(growthOf(expression, isGlobal).worse, null, String(expression));
});

t.test('the measured time shows work that grows with the square', async (t) => {
  const square = (length: number) => () => {
    let sum = 0;
    for (let at = 0; at < length; at++) for (let other = 0; other < length; other++) sum += at ^ other;
    return sum;
  };
  t.not(await growthOfWork(square), null);
  t.equal(await growthOfWork((length) => () => 'a'.repeat(length).split('')), null);
});

t.test('[R3] every regular expression of the source takes steps in proportion to the text', async (t) => {
  const listed = [
    ...(await builtOnes()),
    ...(await patternsOfShapes()),
    ...literalsOf(readTree(fileURLToPath(new URL('../..', import.meta.url)))),
  ];
  const known = new Map(listed.map((one) => [`${one.expression} ${one.isGlobal}`, one]));
  t.ok(known.size > 300, `${known.size} of them`);
  for (const { path, line, expression, isGlobal } of known.values()) {
    const { worse, worst } = growthOf(expression, isGlobal);
    const place = `${path}:${line} ${expression}`;
    if (worse !== null) {
      t.fail(`${place}: ${worse.steps.join(', ')} steps on ${JSON.stringify(worse.attack)}`);
      continue;
    }
    const run = (text: string): unknown => (isGlobal ? text.split(expression) : expression.exec(text));
    t.equal(
      await growthOfWork((length) => {
        const text = textOf(worst, length);
        return () => ((expression.lastIndex = 0), run(text));
      }),
      null,
      place,
    );
  }
});
