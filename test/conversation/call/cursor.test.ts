/** The listener of a reply over several sentences. */
import t from 'tap';
import { Cursor } from '../../../src/conversation/call/cursor.ts';
import { planOf } from '../../../src/providers/voice/plan.ts';

const text = 'One two. Three four.';

t.test('a sentence of which nothing was heard adds nothing, not even the white space before it', async (t) => {
  const cursor = new Cursor(16_000, 0);
  const sentence = (from: number, start: number, raw: string): void => {
    cursor.sentence(from, start);
    t.equal(text.slice(0, cursor.pointsAt(start)), text.slice(0, from).trimEnd(), 'before its words are known');
    cursor.plan(planOf({ from, raw, said: raw.trim() }, [{ from: 0, to: 100 }, { from: 100, to: 200 }], 200));
  };
  sentence(0, 0, 'One two. ');
  sentence(9, 200, 'Three four.');
  const heard = [0, 49, 50, 150, 200, 249, 250, 349, 350].map((samples) => text.slice(0, cursor.pointsAt(samples)));
  t.same(heard, ['', '', 'One', 'One two.', 'One two.', 'One two.', 'One two. Three', 'One two. Three', 'One two. Three four.']);
});
