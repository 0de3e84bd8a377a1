/** Ids: their form, and that none comes twice. */
import t from 'tap';
import { randomIds } from '../../src/base/ids.ts';
import { ManualClock } from '../providers/model/provider.ts';

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const many = 5000;

t.test('ids ascend and differ, in one millisecond and over many', async (t) => {
  const clock = new ManualClock();
  const ids = randomIds(clock);
  const made: string[] = [];
  for (let count = 0; count < many; count++) {
    made.push(ids.make('ses'));
    if (count % 3 === 0) clock.advance(count % 70);
  }
  t.same(
    made.filter((id) => !/^ses_[0-9a-hjkmnp-tv-z]{26}$/.test(id)),
    [],
  );
  t.same(made.toSorted(), made);
  t.equal(new Set(made.map((id) => id.slice(-16))).size, many);
});

t.test('an id tells its moment in units of a thirty-second of a millisecond', async (t) => {
  const clock = new ManualClock();
  const ids = randomIds(clock);
  for (const ms of [0, 1, 31, 32, 33, 1_000_000]) {
    clock.advance(ms);
    const time = [...ids.make('req').slice(4, 14)].reduce(
      (sum, character) => sum * 32 + alphabet.indexOf(character),
      0,
    );
    t.ok(Math.abs(time - clock.now() * 32) <= 1, `${time} of ${clock.now() * 32}`);
  }
});

t.test('secrets use every letter about as often as any other', async (t) => {
  const ids = randomIds(new ManualClock());
  const counts = new Map<string, number>();
  const secrets = Array.from({ length: many }, () => ids.secret());
  t.equal(new Set(secrets).size, many);
  for (const secret of secrets) for (const character of secret) counts.set(character, (counts.get(character) ?? 0) + 1);
  t.equal([...counts.keys()].toSorted().join(''), alphabet);
  // 5,000 of each are expected, give or take 70.
  for (const [character, count] of counts)
    t.ok(count > many - 500 && count < many + 500, `${character} ${count} times`);
});
