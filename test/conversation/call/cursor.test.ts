/** The listener of a reply over several sentences. */
import t from 'tap';
import { Cursor } from '../../../src/conversation/call/cursor.ts';
import { planOf } from '../../../src/providers/voice/plan.ts';

const text = 'One two. Three four.';

t.test('a sentence of which nothing was heard adds nothing, not even the white space before it', async (t) => {
  const cursor = new Cursor(16_000, 0);
  const sentence = (from: number, start: number, raw: string): void => {
    cursor.sentence(from, from + raw.trimEnd().length, start);
    t.equal(text.slice(0, cursor.pointsAt(start)), text.slice(0, from).trimEnd(), 'before its words are known');
    cursor.plan(
      planOf(
        { from, raw, spokenText: raw.trim() },
        [
          { from: 0, to: 100 },
          { from: 100, to: 200 },
        ],
        200,
      ),
    );
  };
  sentence(0, 0, 'One two. ');
  sentence(9, 200, 'Three four.');
  const heard = [0, 49, 50, 150, 200, 249, 250, 349, 350].map((samples) => text.slice(0, cursor.pointsAt(samples)));
  t.same(heard, [
    '',
    '',
    'One',
    'One two.',
    'One two.',
    'One two.',
    'One two. Three',
    'One two. Three',
    'One two. Three four.',
  ]);
});

t.test('a word has begun with its first sample, and with it all before it', async (t) => {
  const cursor = new Cursor(16_000, 0);
  const begun = (...samples: number[]): string[] => samples.map((sent) => text.slice(0, cursor.begunAt(sent)));
  cursor.sentence(0, 8, 0);
  t.same(begun(0, 1), ['', 'One two.'], 'before its words are known');
  cursor.plan(
    planOf(
      { from: 0, raw: 'One two. ', spokenText: 'One two.' },
      [
        { from: 10, to: 80 },
        { from: 100, to: 200 },
      ],
      220,
    ),
  );
  cursor.sentence(9, 20, 220);
  t.same(begun(10, 11, 100, 101, 220, 221), ['', 'One', 'One', 'One two.', 'One two.', 'One two. Three four.']);
  // Nothing is heard of a word that has not begun, not even where it has no length.
  cursor.plan(
    planOf(
      { from: 9, raw: 'Three four.', spokenText: 'Three four.' },
      [
        { from: 30, to: 30 },
        { from: 30, to: 31 },
      ],
      31,
    ),
  );
  for (let samples = 0; samples < 300; samples++)
    if (cursor.begunAt(samples) < cursor.pointsAt(samples)) t.fail(`at ${samples}`);
});
