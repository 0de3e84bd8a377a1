/**
 * The machine's speed, measured once for a run. Deadlines of tests follow it, since a machine that is slow or busy is
 * no failure; the number of files that run abreast follows it too.
 */

/**
 * Milliseconds that the work takes on the machine on which the deadlines and test/run/times.json were chosen, with
 * nothing beside it.
 */
const referenceMs = 75;

/** A machine that is slower by more was held up in the very moment of the measurement. */
const slowestTimes = 12;

/** Some JavaScript of integers and a table, which no core runs much faster than its neighbour of the same clock. */
function work() {
  const table = new Map();
  let random = 1;
  let sum = 0;
  for (let index = 0; index < 2_000_000; index++) {
    random ^= random << 13;
    random ^= random >>> 17;
    random ^= random << 5;
    const key = random & 0xffff;
    table.set(key, (table.get(key) ?? 0) + index);
    sum += table.size;
  }
  return sum;
}

/**
 * Measures how many times slower than the reference the machine is, at least 1: `wall` by the clock, with all that runs
 * beside it, and `cpu` by the time on a core alone. Takes a fifth of a second on the reference.
 */
export function measureSpeed() {
  work();
  const [startedMs, before] = [performance.now(), process.cpuUsage()];
  work();
  work();
  const used = process.cpuUsage(before);
  const times = (ms) => Math.min(slowestTimes, Math.max(1, ms / (2 * referenceMs)));
  return { wall: times(performance.now() - startedMs), cpu: times((used.user + used.system) / 1000) };
}

/** The variable by which the files of a run get its slowness. */
export const slownessVariable = 'PARLEY_TEST_SLOWNESS';

let known;

/**
 * Factor by which the machine was slower than the reference when the run began, or is now in a process that no run
 * started.
 */
export const slowness = () => (known ??= Number(process.env[slownessVariable]) || measureSpeed().wall);

/** Whole milliseconds that stand for so many on the reference. */
export const patient = (ms) => Math.ceil(ms * slowness());
