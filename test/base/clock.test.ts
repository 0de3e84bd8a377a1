/** The wheel that holds every deadline of a process. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { WheelClock } from '../../src/base/clock.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

t.test('timers that were cancelled are let go of, even where none was left in between', async (t) => {
  const [clock, other] = [new WheelClock(), new WheelClock()];
  const passed = (on: WheelClock, ms: number): Promise<void> => new Promise((resolve) => void on.after(ms, resolve));
  const cancelled = (ms: number): WeakRef<object> => {
    const callback = clock.after(ms, () => {});
    callback.cancel();
    return new WeakRef(callback);
  };
  const held = [cancelled(20), cancelled(60), cancelled(100)];
  await passed(other, 200);
  await passed(clock, 20);
  // A reference that was made in this turn of the loop is not let go of before its end.
  await passed(other, 20);
  collect();
  t.same(
    held.map((each) => each.deref()),
    [undefined, undefined, undefined],
  );
});

t.test('timers that are not cancelled fire once each, by tick and then as they were set', async (t) => {
  const clock = new WheelClock();
  const fired: number[] = [];
  const delays = Array.from({ length: 300 }, (_, number) => (number * 7919) % 90);
  const due: { from: number; to: number }[] = [];
  const timers = delays.map((delay, number) => {
    const from = clock.monotonic() + delay;
    const timer = clock.after(delay, () => void fired.push(number));
    due.push({ from, to: clock.monotonic() + delay });
    return timer;
  });
  const cancelled = new Set([...delays.keys()].filter((number) => number % 3 === 0));
  for (const number of cancelled) timers[number]!.cancel();
  await new Promise<void>((resolve) => void clock.after(150, resolve));
  t.same(
    fired.toSorted((a, b) => a - b),
    [...delays.keys()].filter((number) => !cancelled.has(number)),
  );
  const inOrder = fired.map((number) => due[number]!);
  t.ok(
    inOrder.every(({ to }, index) => index === 0 || to > inOrder[index - 1]!.from - 20),
    'none comes before one of an earlier tick',
  );
  const same = [0, 0, 0].map((delay, number) =>
    clock.after(delay, () => (fired.push(number), same[number + 1]?.cancel())),
  );
  fired.length = 0;
  await new Promise<void>((resolve) => void clock.after(20, resolve));
  t.same(fired, [0, 2], 'one that is due may be cancelled by one that comes before it');
});
