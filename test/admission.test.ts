/** Of many requests at once a few begin in each turn of the event loop, in their order, and each one begins. */
import t from 'tap';
import { Admission } from '../src/pipeline/admission.ts';

const turn = (): Promise<void> => new Promise(setImmediate);

t.test('a few begin at once', (t) => {
  const admission = new Admission();
  for (let request = 0; request < 1_000; request++) {
    t.equal(admission.enter(), undefined);
    admission.left();
  }
  t.end();
});

t.test('of a crowd a few begin in a turn, in order, until all have', async (t) => {
  const admission = new Admission();
  const begun: number[] = [];
  const count = 100;
  for (let request = 0; request < count; request++) {
    const wait = admission.enter();
    if (wait === undefined) begun.push(request);
    else void wait.then(() => begun.push(request));
  }
  const atOnce = begun.length;
  t.ok(atOnce > 0 && atOnce < count / 2, `${atOnce} begin at once`);
  let before = atOnce;
  while (begun.length < count) {
    await turn();
    t.ok(begun.length > before && begun.length <= before + 16, `${begun.length - before} begin in a turn`);
    before = begun.length;
  }
  t.same(begun, Array.from({ length: count }, (_, request) => request));
});

t.test('nobody goes before those who wait, and it is quiet again when all have left', async (t) => {
  const admission = new Admission();
  const waits: Promise<void>[] = [];
  let entered = 0;
  for (; ; entered++) {
    const wait = admission.enter();
    if (wait === undefined) continue;
    waits.push(wait);
    break;
  }
  for (let request = 0; request < entered; request++) admission.left();
  waits.push(admission.enter()!);
  t.ok(waits[1] instanceof Promise, 'one waits: so does the next');
  await Promise.all(waits);
  admission.left();
  admission.left();
  t.equal(admission.enter(), undefined);
});
