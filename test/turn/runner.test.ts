import t from 'tap';
import { limits } from '../../src/limits.ts';
import type { Stop } from '../../src/turn/runner.ts';
import { counted, settle, Stage, turnMsMax } from './stage.ts';

const away = new Error('the store is away');

t.test('nothing is seen, and no stream begins, before the store has it', async (t) => {
  const stage = new Stage().start();
  stage.model.text('one ');
  await settle();
  t.same(stage.appends.map(({ asked }) => asked), [{ position: 0, text: 'one ' }]);
  t.same([stage.seen, stage.begun], ['', null]);
  stage.appends[0]!.resolve('stored');
  await settle();
  t.same([stage.seen, stage.begun, stage.runner.log.stored], ['one ', 'begun', 4]);
});

t.test('while one write is in flight the next collects', async (t) => {
  const stage = new Stage().start();
  stage.model.text('a');
  stage.model.text('😀');
  await settle();
  for (const piece of ['b', 'c', 'd']) stage.model.text(piece);
  await settle();
  t.same(stage.appends.map(({ asked }) => asked), [{ position: 0, text: 'a😀' }], 'what came in one tick, and no more');
  stage.appends[0]!.resolve('stored');
  await settle();
  t.same(stage.appends[1]!.asked, { position: 2, text: 'bcd' });
  stage.appends[1]!.resolve('stored');
  await settle();
  t.equal(stage.appends.length, 2, 'nothing is written when there is nothing');
  t.equal(stage.seen, 'a😀bcd');
});

t.test('the end waits for the write, stores the tail and is told once', async (t) => {
  const stage = new Stage().start();
  stage.model.text('one ');
  await settle();
  stage.model.text('two');
  stage.model.usage(counted);
  stage.model.end();
  await settle();
  t.same([stage.finishes.length, stage.end], [0, null], 'not before the write has come back');
  stage.appends[0]!.resolve('stored');
  await settle();
  t.same(stage.finishes[0]!.asked, {
    outcome: { status: 'completed', stopReason: 'end', errorCode: null }, tail: { position: 4, text: 'two' }, usage: counted, length: 7,
  });
  t.same([stage.seen, stage.end], ['one ', null], 'the tail is not seen before it is stored');
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same([stage.seen, stage.runner.log.terminal, stage.statuses, stage.over, stage.settled], ['one two', { type: 'completed', ...counted }, ['completed'], true, true]);

  stage.model.text('late');
  stage.model.end();
  stage.model.failed('cut');
  await stage.runner.stop('aborted');
  await settle();
  t.same([stage.finishes.length, stage.appends.length, stage.statuses, stage.reasons, stage.cancelled], [1, 1, ['completed'], [], 0]);
  t.equal(stage.clock.timers, 0, 'nothing is left running');
});

t.test('characters are whole, however the model splits them', async (t) => {
  const stage = new Stage().start();
  await stage.says('a\ud83d');
  t.equal(stage.seen, 'a');
  await stage.says('\ude00b');
  t.equal(stage.seen, 'a😀b');
  t.same(stage.appends.map(({ asked }) => asked), [{ position: 0, text: 'a' }, { position: 1, text: '😀b' }]);
  await stage.says('\ud83dc');
  await stage.says('\ude00');
  t.equal(stage.seen, 'a😀b\ufffdc\ufffd', 'what can never become one is mended');
  stage.model.text('\ud83d');
  stage.model.end();
  await settle();
  t.same(stage.finishes[0]!.asked.tail, { position: 6, text: '\ufffd' }, 'a half at the end too');

  const half = new Stage().start();
  half.model.text('\ud83d');
  await settle();
  t.same([half.appends.length, half.begun], [0, null], 'half a character is no output');
});

t.test('a failure before the first output leaves nothing behind', async (t) => {
  const stage = new Stage().start();
  stage.model.failed('rate_limit');
  await settle();
  t.same([stage.withdrawals.length, stage.finishes.length, stage.begun, stage.reasons], [1, 0, null, ['rate_limit']]);
  stage.withdrawals[0]!.resolve();
  await settle();
  t.same([stage.begun, stage.statuses, stage.over], ['withdrawn', ['withdrawn'], true]);

  const refused = new Stage();
  refused.runner.refuse('credential');
  refused.start();
  t.equal(refused.calls, 0, 'and no model is called');
});

t.test('a failure within the stream keeps what is there', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.model.text('two');
  stage.model.failed('idle_timeout');
  await settle();
  const [append] = stage.appends.slice(1);
  append?.resolve('stored');
  await settle();
  t.match(stage.finishes[0]!.asked, { outcome: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' }, usage: null, length: 7 });
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same([stage.seen, stage.end, stage.statuses], ['one two', 'assistant_unavailable', ['failed']]);
});

const stops: readonly { reason: Stop; errorCode: string | null; end: string; waiting: 'finish' | 'withdrawn' | 'unavailable' }[] = [
  { reason: 'aborted', errorCode: null, end: 'aborted', waiting: 'finish' },
  { reason: 'expired', errorCode: 'session_expired', end: 'session_expired', waiting: 'finish' },
  { reason: 'ours', errorCode: 'api_error', end: 'api_error', waiting: 'unavailable' },
];

for (const { reason, errorCode, end, waiting } of stops) {
  t.test(`stopped (${reason}) in every phase`, async (t) => {
    const early = new Stage();
    void early.runner.stop(reason);
    early.start();
    t.equal(early.calls, 0, 'before the model was called it never is');

    const stage = new Stage().start();
    void stage.runner.stop(reason);
    void stage.runner.stop('aborted');
    stage.model.text('late');
    await settle();
    t.equal(stage.cancelled, 1, 'the provider is let go at once');
    t.same([stage.finishes.length, stage.withdrawals.length], waiting === 'finish' ? [1, 0] : [0, 1]);
    if (waiting === 'finish') {
      t.match(stage.finishes[0]!.asked, { outcome: { errorCode }, length: 0 });
      stage.finishes[0]!.resolve(counted);
    } else stage.withdrawals[0]!.resolve();
    await settle();
    t.equal(stage.begun, waiting === 'finish' ? 'begun' : waiting);
    if (waiting === 'finish') t.equal(stage.end, end);

    const streaming = new Stage().start();
    await streaming.says('one ');
    streaming.model.text('two');
    const stopped = streaming.runner.stop(reason);
    await settle();
    streaming.appends[1]?.resolve('stored');
    await settle();
    t.match(streaming.finishes[0]!.asked, { outcome: { errorCode }, length: 7 });
    void streaming.runner.stop('expired');
    streaming.finishes[0]!.resolve(counted);
    t.equal(await stopped, true);
    t.same([streaming.finishes.length, streaming.seen, streaming.end, streaming.cancelled], [1, 'one two', end, 1]);
    t.equal(await streaming.runner.stop('aborted'), true, 'on one that is over it changes nothing');
    t.equal(streaming.statuses.length, 1);
  });
}

t.test('a turn has its own time', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.clock.advance(turnMsMax - 1);
  t.equal(stage.cancelled, 0);
  stage.clock.advance(1);
  await settle();
  t.equal(stage.cancelled, 1);
  t.match(stage.finishes[0]!.asked, { outcome: { status: 'failed', errorCode: 'api_error' } });
});

t.test('and its own size', async (t) => {
  const stage = new Stage().start();
  stage.model.text('x'.repeat(limits.outputCharactersMax));
  t.equal(stage.cancelled, 0);
  stage.model.text('x');
  await settle();
  t.equal(stage.cancelled, 1);
  stage.appends[0]?.resolve('stored');
  await settle();
  t.match(stage.finishes[0]!.asked, { outcome: { status: 'failed', errorCode: 'api_error' } });
});

t.test('a store that takes no output: readers hear it, the rest is never seen, the seal follows', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.model.text('two');
  await settle();
  stage.appends[1]!.reject(away);
  await settle();
  t.same([stage.cancelled, stage.seen, stage.end, stage.settled, stage.over], [1, 'one ', 'api_error', false, false]);
  t.match(stage.finishes[0]!.asked, { outcome: { status: 'failed', errorCode: 'api_error' }, tail: null, length: 4 });
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same([stage.over, stage.seen, stage.statuses], [true, 'one ', ['failed']]);

  const first = new Stage().start();
  first.model.text('one');
  await settle();
  first.appends[0]!.reject(away);
  await settle();
  t.equal(first.begun, 'unavailable', 'a request that waits hears that it is us');
});

t.test('a store that does not seal is asked until it does', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.model.text('two');
  stage.model.end();
  await settle();
  stage.appends[1]?.resolve('stored');
  await settle();
  const seen = stage.seen;
  stage.finishes[0]!.reject(away);
  await settle();
  t.same([stage.end, stage.settled, stage.over, stage.seen], ['api_error', false, false, seen], 'nobody is kept waiting');
  for (let attempt = 1; attempt <= 3; attempt++) {
    stage.clock.advance(1000);
    await settle();
    t.equal(stage.finishes.length, attempt + 1);
    t.match(stage.finishes[attempt]!.asked, { outcome: { errorCode: 'api_error' }, tail: null, length: [...seen].length });
    if (attempt < 3) stage.finishes[attempt]!.reject(away);
    else stage.finishes[attempt]!.resolve(counted);
    await settle();
  }
  t.same([stage.over, stage.statuses, stage.clock.timers, stage.runner.log.terminal], [true, ['failed'], 0, { type: 'failed', errorCode: 'api_error' }]);
});

t.test('a withdrawal is tried until the store is back', async (t) => {
  const stage = new Stage().start();
  stage.model.failed('connect');
  await settle();
  stage.withdrawals[0]!.reject(away);
  await settle();
  t.same([stage.begun, stage.over], ['unavailable', false]);
  stage.clock.advance(1000);
  stage.withdrawals[1]!.resolve();
  await settle();
  t.same([stage.over, stage.statuses, stage.clock.timers], [true, ['withdrawn'], 0]);
});

t.test('somebody else owns the turn now', async (t) => {
  const writing = new Stage().start();
  await writing.says('one ');
  writing.model.text('two');
  await settle();
  writing.appends[1]!.resolve('fenced');
  await settle();
  t.same([writing.cancelled, writing.seen, writing.end, writing.over, writing.finishes.length], [1, 'one ', 'api_error', true, 0], 'nothing more is written');

  const sealing = new Stage().start();
  await sealing.says('one ');
  sealing.model.end();
  await settle();
  sealing.finishes[0]!.resolve('fenced');
  await settle();
  t.same([sealing.end, sealing.over, sealing.statuses], ['api_error', true, ['failed']]);

  const both = new Stage().start();
  await both.says('one ');
  both.model.text('two');
  await settle();
  void both.runner.stop('aborted');
  both.appends[1]!.resolve('fenced');
  await settle();
  both.finishes[0]?.resolve('fenced');
  await settle();
  t.same([both.end, both.statuses], ['api_error', ['failed']], 'one end, however often it is told');
});
