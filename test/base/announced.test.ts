/** A value that is announced once. */
import t from 'tap';
import { Announced } from '../../src/base/announced.ts';

t.test('callers before and after get the first value', async (t) => {
  const [early, late] = [new Announced<number>(), new Announced<number>()];
  const asked = early.promise;
  t.equal(early.promise, asked, 'one promise for all');
  for (const one of [early, late]) {
    one.announce(1);
    one.announce(2);
  }
  t.same(await Promise.all([asked, early.promise, late.promise]), [1, 1, 1]);
});
