import t from 'tap';
import type { Turn } from '../../src/store/store.ts';
import { terminalOf, TurnLog } from '../../src/turn/log.ts';

t.test('text is visible only once it is committed', async (t) => {
  const log = new TurnLog();
  const seen: number[] = [];
  log.follow(() => seen.push(log.stored));
  log.append('a😀');
  log.append('b');
  t.same([log.length, log.stored, log.storedPieces], [3, 0, 0]);
  const first = log.take()!;
  t.same(first, { position: 0, text: 'a😀b', pieces: 1 });
  t.same([log.pieces, log.ends], [['a😀b'], [3]], 'what is stored as one is one piece');
  t.equal(log.take(), null, 'what was taken is not taken again');
  log.append('c');
  log.commit(first.pieces);
  t.same([log.stored, log.storedPieces, seen], [3, 1, [3]]);
  t.same(log.take(), { position: 3, text: 'c', pieces: 2 });
  t.same(log.rest(), { position: 3, text: 'c' }, 'taken, but not known to be stored');
  log.commit(1);
  t.same(seen, [3], 'a commit that adds nothing wakes nobody');
});

t.test('marks of later tool calls show stored text only', async (t) => {
  const log = new TurnLog();
  log.append('a');
  log.commit(log.take()!.pieces);
  log.append('b');
  const call = {
    id: 'call_1',
    name: 'act',
    round: 0,
    position: 2,
    status: 'unknown',
    error: 'unknown',
    arguments: {},
    output: null,
    show: 'name',
    sent: true,
    createdAtMs: 1,
    endedAtMs: 2,
  } as const;
  log.learn([call]);
  log.learn([call]);
  t.equal(log.stored, 1);
  t.same(
    log.marks?.map(({ kind, position }) => [kind, position]),
    [
      ['started', 1],
      ['ended', 1],
    ],
  );
});

t.test('a log closes once, and its followers are called no more', async (t) => {
  const log = new TurnLog();
  let calls = 0;
  const leave = log.follow(() => calls++);
  log.follow(() => calls++);
  leave();
  log.close({ type: 'aborted' });
  t.equal(calls, 1, 'one of two had left');
  log.close({ type: 'failed', errorCode: 'api_error' });
  t.same([log.terminal, calls], [{ type: 'aborted' }, 1]);
});

t.test('the log of a stored turn has its text and its end', async (t) => {
  const log = TurnLog.replay('x😀', { type: 'completed', inputTokens: 1, outputTokens: 2 });
  t.same([log.stored, log.pieces, log.terminal?.type], [2, ['x😀'], 'completed']);
  t.same(TurnLog.replay('', null).pieces, []);
  const turn = (over: Partial<Turn>) =>
    terminalOf({ inputTokens: 3, outputTokens: 4, errorCode: null, ...over } as Turn);
  t.equal(turn({ status: 'streaming' }), null);
  t.same(turn({ status: 'completed' }), { type: 'completed', inputTokens: 3, outputTokens: 4 });
  t.same(turn({ status: 'aborted' }), { type: 'aborted' });
  t.same(turn({ status: 'failed', errorCode: 'session_expired' }), { type: 'failed', errorCode: 'session_expired' });
});
