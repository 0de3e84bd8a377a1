/**
 * Runs jobs several abreast: the longest first, as many as are expected to keep the cores busy together. A file that
 * mostly waits leaves room for others, and a file that fills every core runs alone.
 */
import { availableParallelism } from 'node:os';

/** A bound on jobs at a time: even idle ones hold memory and ports, and each works hard while it starts. */
const abreastMax = 3 * availableParallelism();

/** CPU seconds of files that weigh as much as the speed that was measured before them. */
const trusted = 20;

/** The load of a file is a mean: where the sums just fit two cores, a quarter of them stood idle. */
const overcommitted = 1.25;

/**
 * A job's `seconds` and `cpuSeconds` are the times of an earlier run. `run` may not reject, and resolves with the CPU
 * seconds of this run, if they are known: on a slower machine fewer run abreast, or files that wait for real time would
 * be late. `slowness` is how many times slower the machine is than the one on which the times were taken, until files
 * have shown it. Resolves when all have ended.
 */
export function runAll(jobs, run, { slowness = 1, cores = availableParallelism() * overcommitted } = {}) {
  // The measured speed counts as much as a few files.
  let [expected, took] = [trusted, trusted * slowness];
  const waiting = jobs.toSorted((a, b) => b.seconds - a.seconds);
  const running = new Set();
  const loadOf = ({ seconds, cpuSeconds }) => Math.min(cores, (Math.max(1, took / expected) * cpuSeconds) / seconds);
  const load = () => [...running].reduce((sum, job) => sum + loadOf(job), 0);
  return new Promise((resolve) => {
    const next = () => {
      if (waiting.length === 0 && running.size === 0) resolve();
      for (;;) {
        const index =
          running.size < abreastMax
            ? waiting.findIndex((job) => running.size === 0 || load() + loadOf(job) <= cores)
            : -1;
        if (index < 0) return;
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
      }
    };
    next();
  });
}

/** Part of the cores that files keep busy over a whole run; the rest is waits at its end and between files. */
const usedPart = 0.8;

/**
 * Seconds that the jobs are expected to take together: as long as their work on all cores, and no less than the longest
 * of them.
 */
export const secondsOf = (jobs, slowness, cores = availableParallelism()) =>
  Math.max(
    0,
    ...jobs.map(({ seconds }) => seconds),
    (slowness * jobs.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)) / (usedPart * cores),
  );
