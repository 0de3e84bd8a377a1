/**
 * Runs jobs several abreast: the longest first, as many as are expected to keep the cores busy together. A file that
 * mostly waits leaves room for others, and a file that fills every core runs alone.
 */
import { availableParallelism, cpus, freemem } from 'node:os';

const cores = availableParallelism();

/** A bound on jobs that begin because of their expected load: each works hard while it starts. */
const abreastMax = 3 * cores;

/** A bound on jobs at a time: even idle ones hold memory and ports. */
const idleAbreastMax = 5 * cores;

/** Seconds between two looks at the machine. */
const lookSeconds = 1;

/** Part of a core that must have been idle, and bytes of memory that must be free, for one more job. */
const idleLeast = 0.15;
const freeLeast = 1.5e9;

/** CPU seconds of files that weigh as much as the speed that was measured before them. */
const trusted = 20;

/** The load of a file is a mean: where the sums just fit two cores, a quarter of them stood idle. */
const overcommitted = 1.25;

/**
 * Calls `look` with the number of cores that were idle since the last call, and whether there is memory for one more
 * job; returns what ends it. Where the system has
 * more cores than this process may use, it is not known which of them were idle.
 */
function watchIdleCores(look) {
  if (cpus().length !== cores) return () => {};
  const idleMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);
  let [at, before] = [performance.now(), idleMs()];
  const timer = setInterval(() => {
    const [now, idle] = [performance.now(), idleMs()];
    const idleCores = (idle - before) / (now - at);
    [at, before] = [now, idle];
    look(idleCores, freemem() >= freeLeast);
  }, lookSeconds * 1000);
  return () => clearInterval(timer);
}

/**
 * A job's `seconds` and `cpuSeconds` are the times of an earlier run. `run` may not reject, and resolves with the CPU
 * seconds of this run, if they are known: on a slower machine fewer run abreast, or files that wait for real time would
 * be late. `slowness` is how many times slower the machine is than the one on which the times were taken, until files
 * have shown it. The times were taken beside other files, so they promise too little load of a file: while a part of a
 * core stays idle, one more begins with each look. Resolves when all have ended, with the mean number of idle cores, or
 * null where it is unknown.
 */
export function runAll(jobs, run, options = {}) {
  const { slowness = 1, cores: room = cores * overcommitted, watchIdle = watchIdleCores } = options;
  // The measured speed counts as much as a few files.
  let [expected, took] = [trusted, trusted * slowness];
  const waiting = jobs.toSorted((a, b) => b.seconds - a.seconds);
  const running = new Set();
  const idle = { sum: 0, looks: 0 };
  const loadOf = ({ seconds, cpuSeconds }) => Math.min(room, (Math.max(1, took / expected) * cpuSeconds) / seconds);
  const load = () => [...running].reduce((sum, job) => sum + loadOf(job), 0);
  return new Promise((resolve) => {
    const begin = (index) => {
      const [job] = waiting.splice(index, 1);
      running.add(job);
      void run(job).then((cpuSeconds) => {
        running.delete(job);
        if (cpuSeconds) {
          expected += job.cpuSeconds;
          took += cpuSeconds;
        }
        next();
      });
    };
    const next = () => {
      while (running.size < abreastMax) {
        const index = waiting.findIndex((job) => running.size === 0 || load() + loadOf(job) <= room);
        if (index < 0) break;
        begin(index);
      }
      if (waiting.length === 0 && running.size === 0) {
        stopWatching();
        resolve(idle.looks === 0 ? null : idle.sum / idle.looks);
      }
    };
    const stopWatching = watchIdle((idleCores, hasMemory = true) => {
      idle.sum += idleCores;
      idle.looks++;
      if (!hasMemory || idleCores < idleLeast || running.size === 0 || running.size >= idleAbreastMax) return;
      const index = waiting.findIndex((job) => loadOf(job) <= 1);
      if (index >= 0) begin(index);
    });
    next();
  });
}

/** Part of the cores that files keep busy over a whole run; the rest is waits at its end and between files. */
const usedPart = 0.9;

/**
 * Seconds that the jobs are expected to take together: as long as their work on all cores, and no less than the longest
 * of them.
 */
export const secondsOf = (jobs, slowness, of = cores) =>
  Math.max(
    0,
    ...jobs.map(({ seconds }) => seconds),
    (slowness * jobs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)) / (usedPart * of),
  );
