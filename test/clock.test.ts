/** The wheel that holds every deadline of a process. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { WheelClock } from '../src/clock.ts';

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
  t.same(held.map((each) => each.deref()), [undefined, undefined, undefined]);
});
