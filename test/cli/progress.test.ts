/** Progress of a long command. */
import { Writable } from 'node:stream';
import t from 'tap';
import { bar, Progress, movingToldMs } from '../../src/cli/progress.ts';

t.test('a bar stays within its bounds', async (t) => {
  t.equal(bar(0), `[${'-'.repeat(24)}]   0 %`);
  t.equal(bar(0.5), `[${'#'.repeat(12)}${'-'.repeat(12)}]  50 %`);
  t.equal(bar(1), `[${'#'.repeat(24)}] 100 %`);
});

t.test('where no terminal is, a line comes every few seconds until the end', async (t) => {
  const lines: string[] = [];
  const output = new Writable({ decodeStrings: false, write: (text: string, _, done) => (lines.push(text), done()) });
  const waits: { ms: number; callback: () => void; cancelled: boolean }[] = [];
  const after = (ms: number, callback: () => void) => {
    const wait = { ms, callback, cancelled: false };
    waits.push(wait);
    return { cancel: () => void (wait.cancelled = true) };
  };
  let rows = 0;
  const progress = new Progress(
    output,
    { now: () => 0, monotonic: () => 0, after, stop: () => {} },
    () => `${rows} rows`,
  );
  for (rows = 1; rows < 3; rows++) waits.at(-1)!.callback();
  progress.end();
  t.same(lines, ['1 rows\n', '2 rows\n']);
  t.same(
    waits.map(({ ms, cancelled }) => [ms, cancelled]),
    [
      [movingToldMs, false],
      [movingToldMs, false],
      [movingToldMs, true],
    ],
  );
});
