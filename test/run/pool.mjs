/**
 * Runs jobs several abreast: the longest first, as many as are expected to keep the cores busy together. A file that mostly waits
 * leaves room for others, and one that fills every core runs alone.
 */
import { availableParallelism } from 'node:os';

/** However little each does, they hold memory and ports. */
const abreastMax = 4 * availableParallelism();

/** The load of a file is a mean: where the sums just fit two cores, a quarter of them stood idle. */
const overcommitted = 1.25;

/** Of a job `seconds` and `cpuSeconds` are what it took before. Resolves when all have ended; `run` may not reject. */
export function runAll(jobs, run, cores = availableParallelism() * overcommitted) {
  const waiting = jobs.toSorted((a, b) => b.seconds - a.seconds);
  const loadOf = ({ seconds, cpuSeconds }) => Math.min(cores, cpuSeconds / seconds);
  let abreast = 0;
  let load = 0;
  return new Promise((resolve) => {
    const next = () => {
      if (waiting.length === 0 && abreast === 0) resolve();
      for (;;) {
        const index = abreast < abreastMax ? waiting.findIndex((job) => abreast === 0 || load + loadOf(job) <= cores) : -1;
        if (index < 0) return;
        const [job] = waiting.splice(index, 1);
        abreast++;
        load += loadOf(job);
        void run(job).then(() => {
          abreast--;
          load -= loadOf(job);
          next();
        });
      }
    };
    next();
  });
}
