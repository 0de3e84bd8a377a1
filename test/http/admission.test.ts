/**
 * A few of many waiting requests begin in each iteration of the event loop, in their order, until each has begun;
 * likewise a few of their bodies are parsed.
 */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { Admission } from '../../src/http/pipeline/admission.ts';

const turn = (): Promise<void> => new Promise(setImmediate);

t.test('a few begin at once', (t) => {
  const admission = new Admission();
  for (let request = 0; request < 1_000; request++) {
    t.equal(admission.enter(), undefined);
    admission.leave();
  }
  t.end();
});

t.test('a crowd begins a few in each turn of the loop, in order, until all have', async (t) => {
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
  t.same(
    begun,
    Array.from({ length: count }, (_, request) => request),
  );
});

t.test('requests are admitted in order, and the queue empties when all have left', async (t) => {
  const admission = new Admission();
  const waits: Promise<void>[] = [];
  let entered = 0;
  for (; ; entered++) {
    const wait = admission.enter();
    if (wait === undefined) continue;
    waits.push(wait);
    break;
  }
  for (let request = 0; request < entered; request++) admission.leave();
  waits.push(admission.enter()!);
  t.ok(waits[1] instanceof Promise, 'one waits: so does the next');
  await Promise.all(waits);
  admission.leave();
  admission.leave();
  t.equal(admission.enter(), undefined);
});

t.test('thousands that wait while others come begin in their order', async (t) => {
  const admission = new Admission();
  const begun: number[] = [];
  const count = 5_000;
  const enter = (request: number): void => {
    void Promise.resolve(admission.enter()).then(() => begun.push(request));
  };
  for (let request = 0; request < count / 2; request++) enter(request);
  for (let request = count / 2; begun.length < count;) {
    await turn();
    for (let more = 0; more < 8 && request < count; more++) enter(request++);
  }
  t.same(
    begun,
    Array.from({ length: count }, (_, request) => request),
  );
});

t.test('as many bodies are parsed in a turn as their bytes allow, in order', async (t) => {
  const admission = new Admission();
  const { parsedBytesPerTurn } = limits;
  const sizes = [
    10,
    parsedBytesPerTurn - 10,
    1,
    parsedBytesPerTurn,
    parsedBytesPerTurn,
    ...Array.from({ length: 10 }, () => parsedBytesPerTurn / 4),
    3,
  ];
  const parsed: number[] = [];
  for (const [body, bytes] of sizes.entries()) {
    const wait = admission.body(bytes);
    if (wait === undefined) parsed.push(body);
    else void wait.then(() => parsed.push(body));
  }
  const turns = [[0, 1], [2], [3], [4], [5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15]];
  for (const [index, bodies] of turns.entries()) {
    t.same(parsed.splice(0), bodies, `turn ${index}`);
    await turn();
  }
  await turn();
  t.equal(admission.body(parsedBytesPerTurn), undefined, 'it is quiet again');
  t.ok(admission.body(1) instanceof Promise);
});

t.test('a body that is larger than a turn allows is parsed alone', async (t) => {
  const admission = new Admission();
  t.equal(admission.body(1), undefined);
  const large = admission.body(10 * limits.parsedBytesPerTurn)!;
  let later = false;
  void admission.body(1)!.then(() => (later = true));
  await large;
  t.notOk(later);
  await turn();
  await turn();
  t.ok(later);
});
