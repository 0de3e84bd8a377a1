/** Rows that wait for a database, compared with plain bytes. */
import t from 'tap';
import { WaitingRows } from '../../src/store/journal/waiting.ts';
import { Random } from '../simulate/random.ts';

const keys = ['a', 'b', 'c'];

t.test('a growing row has the bytes of its pieces, and bytes that were read stay as they were', (t) => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = new Random(seed);
    const bytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => random.between(0, 255)));
    const waiting = new WaitingRows();
    const beneath = new Map(keys.map((key) => [key, bytes(random.between(0, 50))]));
    const expected = new Map(beneath);
    const touched = new Set<string>();
    const read: { is: Uint8Array; was: Buffer }[] = [];
    for (let step = 0; step < 200; step++) {
      const key = random.pick(keys);
      const before = expected.get(key) ?? Buffer.alloc(0);
      touched.add(key);
      if (random.chance(0.05)) {
        waiting.apply({ key, offset: 0, pieces: null }, (name) => beneath.get(name));
        expected.delete(key);
        continue;
      }
      // Mostly at the end, as text is added; at times earlier bytes are replaced.
      const offset = random.chance(0.75) ? before.length : random.between(0, before.length);
      const pieces = Array.from({ length: random.between(1, 3) }, () => bytes(random.between(0, 40)));
      waiting.apply({ key, offset, pieces }, (name) => beneath.get(name));
      expected.set(key, Buffer.concat([before.subarray(0, offset), ...pieces]));
      if (random.chance(0.5)) read.push({ is: waiting.get(key)!, was: Buffer.from(expected.get(key)!) });
    }
    const same = [...touched].every((key) => {
      const value = waiting.get(key);
      const wanted = expected.get(key) ?? null;
      return wanted === null
        ? value === null
        : value != null && wanted.equals(value) && waiting.lengthOf(key) === wanted.length;
    });
    t.ok(same, `seed ${seed}: the rows`);
    t.ok(
      read.every(({ is, was }) => was.equals(is)),
      `seed ${seed}: what was read`,
    );
  }
  t.end();
});
