/**
 * Runs jobs several abreast: the longest first, as many as are expected to keep the cores busy together. A file that mostly waits
 * leaves room for others, and a file that fills every core runs alone.
 */
import { availableParallelism } from 'node:os';

/** A bound on jobs at a time, since even idle ones hold memory and ports. */
const abreastMax = 4 * availableParallelism();

/** The load of a file is a mean: where the sums just fit two cores, a quarter of them stood idle. */
const overcommitted = 1.25;

/** CPU seconds expected of files, and taken: until files have shown its speed, a machine counts as one and a half times as slow as the measured one. */
const supposed = { expected: 40, took: 60 };

/**
 * A job's `seconds` and `cpuSeconds` are the times of an earlier run. `run` may not reject, and resolves with the CPU seconds of this
 * run, if they are known: on a slower machine fewer run abreast, or files that wait for real time would be late. Resolves when all have ended.
 */
export function runAll(jobs, run, cores = availableParallelism() * overcommitted, { expected, took } = supposed) {
  const waiting = jobs.toSorted((a, b) => b.seconds - a.seconds);
  const running = new Set();
  const loadOf = ({ seconds, cpuSeconds }) => Math.min(cores, (Math.max(1, took / expected || 1) * cpuSeconds) / seconds);
  const load = () => [...running].reduce((sum, job) => sum + loadOf(job), 0);
  return new Promise((resolve) => {
    const next = () => {
      if (waiting.length === 0 && running.size === 0) resolve();
      for (;;) {
        const index = running.size < abreastMax ? waiting.findIndex((job) => running.size === 0 || load() + loadOf(job) <= cores) : -1;
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
