/** Position of a listener in a reply of several sentences. */
import t from 'tap';
import { PlaybackPosition } from '../../../src/conversation/call/position.ts';
import { planOf } from '../../../src/providers/voice/plan.ts';

const text = 'One two. Three four.';

t.test('an unheard sentence adds no text and no white space before it', async (t) => {
  const position = new PlaybackPosition(16_000, 0);
  const sentence = (from: number, start: number, raw: string): void => {
    position.sentence(from, from + raw.trimEnd().length, start);
    t.equal(text.slice(0, position.pointsAt(start)), text.slice(0, from).trimEnd(), 'before its words are known');
    position.plan(
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
  const heard = [0, 49, 50, 150, 200, 249, 250, 349, 350].map((samples) => text.slice(0, position.pointsAt(samples)));
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

t.test('the first sample of a word begins that word and all words before it', async (t) => {
  const position = new PlaybackPosition(16_000, 0);
  const begun = (...samples: number[]): string[] => samples.map((sent) => text.slice(0, position.begunAt(sent)));
  position.sentence(0, 8, 0);
  t.same(begun(0, 1), ['', 'One two.'], 'before its words are known');
  position.plan(
    planOf(
      { from: 0, raw: 'One two. ', spokenText: 'One two.' },
      [
        { from: 10, to: 80 },
        { from: 100, to: 200 },
      ],
      220,
    ),
  );
  position.sentence(9, 20, 220);
  t.same(begun(10, 11, 100, 101, 220, 221), ['', 'One', 'One', 'One two.', 'One two.', 'One two. Three four.']);
  // A word is heard only after it has begun, also a word without length.
  position.plan(
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
    if (position.begunAt(samples) < position.pointsAt(samples)) t.fail(`at ${samples}`);
});
