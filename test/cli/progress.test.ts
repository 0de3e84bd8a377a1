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

t.test('in a terminal the line is overwritten, and cleared before anything else is printed', async (t) => {
  const written: string[] = [];
  const stream = new Writable({ decodeStrings: false, write: (text: string, _, done) => (written.push(text), done()) });
  let show = (): void => {};
  const after = (_ms: number, callback: () => void) => {
    show = callback;
    return { cancel: () => {} };
  };
  const output = Object.assign(stream, { isTTY: true, columns: 6 });
  const progress = new Progress(output, { now: () => 0, monotonic: () => 0, after, stop: () => {} }, () => '1 of 20');
  show();
  progress.clear();
  show();
  progress.end();
  const [line, cleared] = ['\r\u001b[K1 of ', '\r\u001b[K'];
  t.same(written, [line, cleared, line, cleared]);
});
