/** The progress of a development command, and its remaining time. */
import t from 'tap';
import { Progress, spanOf } from '../bench/harness/progress.ts';

/** A run of two questions at a time that the test sets, and all that it printed. */
function begun(isTTY: boolean): { progress: Progress; at(ms: number): Progress; printed: string[] } {
  const printed: string[] = [];
  let nowMs = 0;
  const progress = new Progress(2, { stream: { isTTY, write: (text) => printed.push(text) }, now: () => nowMs });
  return { progress, at: (ms) => ((nowMs = ms), progress), printed };
}

t.test('a terminal shows a bar, and after ten seconds the time that is left', async (t) => {
  const { at, printed } = begun(true);
  at(9_000).tell(1, 10, 'P5 on redis: 1 of 10');
  at(30_000).tell(5, 10, 'P5 on redis: 5 of 10');
  at(60_000).next();
  at(60_000).tell(10, 10, 'P6 on redis: 10 of 10');
  at(60_000).end();
  t.same(printed, [
    '\r\x1b[K█░░░░░░░░░░░░░░░░░░░░░░░   5 %  P5 on redis: 1 of 10',
    '\r\x1b[K██████░░░░░░░░░░░░░░░░░░  25 %  about 2 min left  P5 on redis: 5 of 10',
    '\r\x1b[K████████████████████████ 100 %  P6 on redis: 10 of 10',
    '\r\x1b[K',
  ]);
});

t.test('where no terminal is, each question has a line, and estimates come at ever longer intervals', async (t) => {
  const { at, printed } = begun(false);
  for (let second = 0; second <= 60; second++) at(second * 1000).tell(second, 100, 'P5 on redis: some');
  at(61_000).next();
  at(61_000).tell(0, 100, 'P6 on redis: some');
  at(61_000).end();
  t.same(printed, [
    'P5 on redis …\n',
    'about 3 min left\n',
    'about 3 min left\n',
    'about 3 min left\n',
    'P6 on redis …\n',
  ]);
});

t.test('a span is said as people say it', async (t) => {
  t.same([400, 59_000, 61_000, 3_540_000, 3_600_000, 7_500_000].map(spanOf), [
    '1 s',
    '59 s',
    '1 min',
    '59 min',
    '1 h 00 min',
    '2 h 05 min',
  ]);
});
