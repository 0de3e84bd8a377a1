/** A value that is announced once. */
import t from 'tap';
import { Deferred } from '../../src/turn/deferred.ts';

t.test('callers before and after get the first value', async (t) => {
  const [early, late] = [new Deferred<number>(), new Deferred<number>()];
  const asked = early.promise;
  t.equal(early.promise, asked, 'one promise for all');
  for (const one of [early, late]) {
    one.resolve(1);
    one.resolve(2);
  }
  t.same(await Promise.all([asked, early.promise, late.promise]), [1, 1, 1]);
});
