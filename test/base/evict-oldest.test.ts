/** A map that keeps the newest entries. */
import t from 'tap';
import { evictOldest } from '../../src/base/evict-oldest.ts';

t.test('the newest are kept, and many are removed at a time', async (t) => {
  const map = new Map<string, number>();
  let removals = 0;
  const keys = map.keys.bind(map);
  map.keys = () => (removals++, keys());
  const times = 100_000;
  for (let time = 0; time < times; time++) {
    map.set(String(time), time);
    evictOldest(map, 1_000);
    if (map.size > 1_000) t.fail('too many');
  }
  t.ok(removals <= times / 125 + 1, `${removals} searches for the oldest`);
  t.equal([...map.keys()].at(-1), String(times - 1));
  t.same(
    [...map.values()],
    Array.from({ length: map.size }, (_, index) => times - map.size + index),
    'the oldest are gone',
  );
});
