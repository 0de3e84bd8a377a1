import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import type { TurnStop } from '../../machines/turn.ts';
import { counted, settle, Stage, turnMsMax } from './stage.ts';
import { fateMs, fateReadersMs } from '../../src/turn/end-steps.ts';
import { storeRetryMsMax, retryMs } from '../../src/base/store-retry.ts';

const away = new StoreUnavailable('the store is away');

t.test('output is visible, and the stream begins, only once the store has the output', async (t) => {
  const stage = new Stage().start();
  stage.model.text('one ');
  await settle();
  t.same(
    stage.appends.map(({ asked }) => asked),
    [{ position: 0, text: 'one ' }],
  );
  t.same([stage.seen, stage.begun], ['', null]);
  stage.appends[0]!.resolve('stored');
  await settle();
  t.same([stage.seen, stage.begun, stage.runner.log.stored], ['one ', 'begun', 4]);
});

t.test('pieces collect while one write is in flight', async (t) => {
  const stage = new Stage().start();
  stage.model.text('a');
  stage.model.text('😀');
  await settle();
  for (const piece of ['b', 'c', 'd']) stage.model.text(piece);
  await settle();
  t.same(
    stage.appends.map(({ asked }) => asked),
    [{ position: 0, text: 'a😀' }],
    'what came in one tick, and no more',
  );
  stage.appends[0]!.resolve('stored');
  await settle();
  t.same(stage.appends[1]!.asked, { position: 2, text: 'bcd' });
  stage.appends[1]!.resolve('stored');
  await settle();
  t.equal(stage.appends.length, 2, 'nothing is written when there is nothing');
  t.equal(stage.seen, 'a😀bcd');
});

t.test('the end waits for the write, stores the tail and is reported once', async (t) => {
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
    outcome: { status: 'completed', stopReason: 'end', errorCode: null },
    tail: { position: 4, text: 'two' },
    usage: counted,
    length: 7,
  });
  t.same([stage.seen, stage.end], ['one ', null], 'the tail is not seen before it is stored');
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same(
    [stage.seen, stage.runner.log.terminal, stage.statuses, stage.over, stage.settled],
    ['one two', { type: 'completed', ...counted }, ['completed'], true, true],
  );

  stage.model.text('late');
  stage.model.end();
  stage.model.failed('cut');
  await stage.runner.stop('aborted');
  await settle();
  t.same(
    [stage.finishes.length, stage.appends.length, stage.statuses, stage.reasons, stage.cancelled],
    [1, 1, ['completed'], [], 0],
  );
  t.equal(stage.clock.timers, 0, 'nothing is left running');
});

t.test('characters that the model splits are joined', async (t) => {
  const stage = new Stage().start();
  await stage.says('a\ud83d');
  t.equal(stage.seen, 'a');
  await stage.says('\ude00b');
  t.equal(stage.seen, 'a😀b');
  t.same(
    stage.appends.map(({ asked }) => asked),
    [
      { position: 0, text: 'a' },
      { position: 1, text: '😀b' },
    ],
  );
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

t.test('a failure before the first output withdraws the turn', async (t) => {
  const stage = new Stage().start();
  stage.model.failed('rate_limit');
  await settle();
  t.same([stage.withdrawals.length, stage.finishes.length, stage.begun, stage.reasons], [1, 0, null, ['rate_limit']]);
  stage.withdrawals[0]!.resolve(true);
  await settle();
  t.same([stage.begun, stage.statuses, stage.over], ['withdrawn', ['withdrawn'], true]);

  const refused = new Stage().start({ credential: false });
  t.same([refused.calls, refused.reasons], [0, ['credential']], 'and no model is called');
});

t.test('a failure within the stream keeps the stored output', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.model.text('two');
  stage.model.failed('idle_timeout');
  await settle();
  const [append] = stage.appends.slice(1);
  append?.resolve('stored');
  await settle();
  t.match(stage.finishes[0]!.asked, {
    outcome: { status: 'failed', stopReason: 'error', errorCode: 'assistant_unavailable' },
    usage: null,
    length: 7,
  });
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same([stage.seen, stage.end, stage.statuses], ['one two', 'assistant_unavailable', ['failed']]);
});

const stops: readonly {
  reason: TurnStop;
  errorCode: string | null;
  end: string;
  waiting: 'finish' | 'withdrawn' | 'unavailable';
}[] = [
  { reason: 'aborted', errorCode: null, end: 'aborted', waiting: 'finish' },
  { reason: 'expired', errorCode: 'session_expired', end: 'session_expired', waiting: 'finish' },
  { reason: 'drain', errorCode: 'api_error', end: 'api_error', waiting: 'unavailable' },
];

for (const { reason, errorCode, end, waiting } of stops) {
  t.test(`a stop (${reason}) ends the turn in every phase`, async (t) => {
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
    } else stage.withdrawals[0]!.resolve(true);
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

t.test('a turn that exceeds its time limit fails', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.clock.advance(turnMsMax - 1);
  t.equal(stage.cancelled, 0);
  stage.clock.advance(1);
  await settle();
  t.equal(stage.cancelled, 1);
  t.match(stage.finishes[0]!.asked, { outcome: { status: 'failed', errorCode: 'api_error' } });
});

t.test('a turn that exceeds its output limit fails', async (t) => {
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

t.test("a store that rejects output ends the readers' streams, and the seal follows", async (t) => {
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

  const forgetful = new Stage({ unsure: true }).start();
  await forgetful.says('one ');
  forgetful.model.text('two');
  await settle();
  forgetful.appends[1]!.reject(new RangeError('a hole'));
  await settle();
  t.match(
    [forgetful.cancelled, forgetful.end, forgetful.faults],
    [1, null, [{ reason: 'store_forgot' }]],
    'one that others share and that has forgotten: told once it is sealed',
  );
  t.match(forgetful.finishes[0]!.asked, { outcome: { errorCode: 'api_error' }, tail: null });
  forgetful.finishes[0]!.resolve(counted);
  await settle();
  t.equal(forgetful.end, 'api_error');
});

for (const unsure of [false, true]) {
  t.test(
    `a chat whose first piece the store does not take leaves nothing behind${unsure ? ', even if it has taken it' : ''}`,
    async (t) => {
      const early = async (stage: Stage): Promise<void> => {
        stage.model.text('one');
        await settle();
        stage.appends[0]!.reject(away);
        await settle();
        t.match(
          [stage.begun, stage.end, stage.cancelled, stage.faults],
          ['unavailable', null, 1, [{ reason: 'store_away' }]],
          'it hears at once that it is us',
        );
        t.same([stage.finishes.length, stage.withdrawals.length, stage.over], [0, 1, false]);
      };
      for (const stored of [true, false]) {
        const stage = new Stage({ unsure }).start();
        await early(stage);
        void stage.runner.stop('aborted');
        stage.model.end();
        stage.withdrawals[0]!.resolve(stored);
        await settle();
        t.same(
          [stage.over, stage.settled, stage.statuses, stage.finishes.length, stage.clock.timers],
          [true, stored, ['withdrawn'], 0, 0],
        );
      }

      const ended = new Stage({ unsure }).start();
      ended.model.text('one');
      await settle();
      ended.model.end();
      ended.appends[0]!.reject(away);
      await settle();
      t.same(
        [ended.begun, ended.finishes.length, ended.withdrawals.length],
        ['unavailable', 0, 1],
        'nor is it sealed, though its model has ended',
      );

      const silent = new Stage({ unsure }).start();
      silent.model.end();
      await settle();
      silent.finishes[0]!.reject(away);
      await settle();
      t.same([silent.begun, silent.withdrawals.length], ['unavailable', 1], 'one that is sealed with the first step');
    },
  );
}

t.test('a piece whose answer is lost is sent again unnoticed', async (t) => {
  const stage = new Stage({ unsure: true }).start();
  await stage.says('one ');
  stage.model.text('two ');
  await settle();
  for (let tries = 0; tries < 3; tries++) {
    t.same(
      stage.appends.slice(1).map(({ asked }) => asked),
      Array.from({ length: tries + 1 }, () => ({ position: 4, text: 'two ' })),
    );
    stage.appends.at(-1)!.reject(away);
    await settle();
    stage.model.text('more ');
    stage.clock.advance(retryMs(tries));
    await settle();
  }
  t.same([stage.seen, stage.end, stage.cancelled, stage.faults], ['one ', null, 0, []]);
  stage.appends.at(-1)!.resolve('stored');
  await settle();
  t.same([stage.seen, stage.appends.at(-1)!.asked], ['one two ', { position: 8, text: 'more more more ' }]);
  stage.appends.at(-1)!.resolve('stored');
  stage.model.end();
  await settle();
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same([stage.seen, stage.end, stage.statuses], ['one two more more more ', 'completed', ['completed']]);
});

t.test('a turn whose lease has run out shows no more output, and its end once it is stored', async (t) => {
  const stage = new Stage({ unsure: true }).start();
  await stage.says('one ');
  stage.model.text('two');
  await settle();
  stage.appends[1]!.reject(away);
  await settle();
  stage.runner.lost();
  stage.model.text('late');
  stage.clock.advance(retryMs(0));
  await settle();
  t.same(
    [stage.cancelled, stage.appends.length, stage.end, stage.faults],
    [1, 2, null, [{ reason: 'lease_lost', cause: null }]],
  );
  t.match(stage.finishes[0]!.asked, {
    outcome: { status: 'failed', errorCode: 'api_error' },
    tail: { position: 4, text: 'two' },
  });
  stage.finishes[0]!.reject(away);
  await settle();
  t.same([stage.settled, stage.end], [false, null]);
  stage.clock.advance(retryMs(0));
  await settle();
  t.same(stage.finishes[1]!.asked, stage.finishes[0]!.asked, 'the same end again');
  stage.finishes[1]!.resolve(counted);
  await settle();
  t.same([stage.seen, stage.end, stage.over], ['one two', 'api_error', true]);

  const waiting = new Stage({ unsure: true }).start();
  waiting.runner.lost();
  await settle();
  t.same([waiting.begun, waiting.withdrawals.length, waiting.cancelled], ['unavailable', 1, 1]);
});

t.test('an end whose answer is lost is sent again unchanged, and reported once it is stored', async (t) => {
  const stage = new Stage({ unsure: true }).start();
  await stage.says('one ');
  stage.model.text('two');
  await settle();
  stage.appends[1]!.resolve('stored');
  stage.model.usage(counted);
  stage.model.end();
  await settle();
  for (let tries = 0; tries < 8; tries++) {
    t.same(stage.finishes[tries]!.asked, stage.finishes[0]!.asked);
    stage.finishes[tries]!.reject(away);
    await settle();
    void stage.runner.stop('aborted');
    stage.runner.lost();
    t.same([stage.end, stage.over, stage.settled], [null, false, false]);
    stage.clock.advance(retryMs(tries));
    await settle();
  }
  t.match(stage.finishes[8]!.asked, { outcome: { status: 'completed' } });
  stage.finishes[8]!.resolve(counted);
  await settle();
  t.same(
    [stage.seen, stage.end, stage.over, stage.statuses, stage.faults, stage.clock.timers],
    ['one two', 'completed', true, ['completed'], [], 0],
  );
});

t.test('a seal that the store rejects is repeated until it succeeds', async (t) => {
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
  t.same(
    [stage.end, stage.settled, stage.over, stage.seen],
    ['api_error', false, false, seen],
    'nobody is kept waiting',
  );
  for (let attempt = 1; attempt <= 3; attempt++) {
    stage.clock.advance(retryMs(attempt - 1) - 1);
    await settle();
    t.equal(stage.finishes.length, attempt, 'more seldom each time');
    stage.clock.advance(1);
    await settle();
    t.equal(stage.finishes.length, attempt + 1);
    t.match(stage.finishes[attempt]!.asked, {
      outcome: { errorCode: 'api_error' },
      tail: null,
      length: [...seen].length,
    });
    if (attempt < 3) stage.finishes[attempt]!.reject(away);
    else stage.finishes[attempt]!.resolve(counted);
    await settle();
  }
  t.same(
    [stage.over, stage.statuses, stage.clock.timers, stage.runner.log.terminal],
    [true, ['failed'], 0, { type: 'failed', errorCode: 'api_error' }],
  );
});

t.test(
  'readers of an end that the store keeps rejecting are cut off in time, and the end is stored later',
  async (t) => {
    const stage = new Stage({ unsure: true }).start();
    await stage.says('one ');
    stage.model.end();
    await settle();
    const { log } = stage.runner;
    let waitedMs = 0;
    for (let attempt = 0; !log.cutOff && attempt < 100; attempt++) {
      t.same([stage.end, stage.over], [null, false], 'readers are told no end that may not stand');
      stage.finishes.at(-1)!.reject(away);
      await settle();
      stage.clock.advance(retryMs(attempt));
      waitedMs += retryMs(attempt);
      await settle();
    }
    t.ok(log.cutOff && waitedMs <= limits.leaseMs + fateReadersMs + storeRetryMsMax, `cut off after ${waitedMs} ms`);
    stage.finishes.at(-1)!.resolve(counted);
    await settle();
    t.same([stage.end, stage.over, stage.statuses, stage.clock.timers], ['completed', true, ['completed'], 0]);
  },
);

t.test("a withdrawal without an answer of the store is not reported as the provider's failure", async (t) => {
  const stage = new Stage().start();
  stage.model.failed('connect');
  await settle();
  stage.withdrawals[0]!.resolve(false);
  await settle();
  t.same(
    [stage.begun, stage.over, stage.settled, stage.statuses, stage.clock.timers],
    ['unavailable', true, false, ['withdrawn'], 0],
  );
});

t.test('readers of a turn that another process took over receive its end', async (t) => {
  const failed = { type: 'failed', errorCode: 'api_error' } as const;
  const writing = new Stage({ unsure: true }).start();
  await writing.says('one ');
  writing.model.text('two ');
  await settle();
  writing.model.text('three');
  writing.appends[1]!.resolve('fenced');
  await settle();
  t.same([writing.cancelled, writing.seen, writing.end, writing.over, writing.settled], [1, 'one ', null, true, false]);
  t.same([writing.finishes.length, writing.fates[0]!.asked], [0, 4], 'nothing more is written');
  writing.fates[0]!.resolve({ terminal: failed, text: 'two ', calls: [] });
  await settle();
  t.same(
    [writing.seen, writing.end, writing.statuses],
    ['one two ', 'api_error', ['failed']],
    'a piece may have been stored all the same',
  );

  const sealing = new Stage({ unsure: true }).start();
  await sealing.says('one ');
  sealing.model.end();
  await settle();
  sealing.finishes[0]!.resolve('fenced');
  await settle();
  sealing.fates[0]!.resolve({ terminal: { type: 'aborted' }, text: '', calls: [] });
  await settle();
  t.same(
    [sealing.end, sealing.over, sealing.statuses, sealing.faults],
    ['aborted', true, ['aborted'], []],
    'an end that was asked for is no fault',
  );

  const both = new Stage({ unsure: true }).start();
  await both.says('one ');
  both.model.text('two');
  await settle();
  void both.runner.stop('aborted');
  both.appends[1]!.resolve('fenced');
  await settle();
  t.same([both.fates.length, both.finishes.length], [1, 0], 'one end, however often it is told');
  both.fates[0]!.resolve(null);
  await settle();
  t.same([both.seen, both.end, both.statuses], ['one ', 'api_error', ['failed']], 'of one that is gone');

  const unknown = new Stage({ unsure: true }).start();
  await unknown.says('one ');
  unknown.model.end();
  await settle();
  unknown.finishes[0]!.resolve('fenced');
  await settle();
  unknown.fates[0]!.reject(new TypeError('a bug'));
  await settle();
  t.same([unknown.end, unknown.runner.log.cutOff], [null, true]);
});

t.test('a turn taken over before its first output keeps only an end by request', async (t) => {
  const waiting = async () => {
    const stage: Stage = new Stage({ unsure: true }).start();
    stage.model.text('one ');
    await settle();
    stage.appends[0]!.resolve('fenced');
    await settle();
    t.same([stage.begun, stage.fates[0]!.asked, stage.cancelled], [null, 0, 1]);
    return stage;
  };
  for (const [terminal, end] of [
    [{ type: 'aborted' }, 'aborted'],
    [{ type: 'failed', errorCode: 'session_expired' }, 'session_expired'],
  ] as const) {
    const stopped = await waiting();
    stopped.fates[0]!.resolve({ terminal, text: '', calls: [] });
    await settle();
    t.same([stopped.begun, stopped.seen, stopped.end, stopped.over, stopped.settled], ['begun', '', end, true, true]);
    t.same([stopped.withdrawals.length, stopped.faults, stopped.clock.timers], [0, [], 0]);
  }
  for (const fate of [
    null,
    { terminal: { type: 'failed', errorCode: 'api_error' }, text: 'one ', calls: [] },
  ] as const) {
    const failed = await waiting();
    failed.fates[0]!.resolve(fate);
    await settle();
    t.same([failed.begun, failed.withdrawals.length], ['unavailable', 1], 'a chat that waits leaves nothing behind');
    t.match(failed.faults, [{ reason: 'fence_lost' }]);
  }
  const bug = await waiting();
  bug.fates[0]!.reject(new TypeError('a bug'));
  await settle();
  t.same([bug.begun, bug.withdrawals.length], ['unavailable', 1]);
  const unanswered = await waiting();
  unanswered.clock.advance(fateMs);
  await settle();
  t.same([unanswered.begun, unanswered.withdrawals.length], ['unavailable', 1], 'it is not waited for long');
  t.equal(unanswered.wanted(), false);
});

t.test('text before a tool call is spoken before the call is sent', async (t) => {
  const told: string[] = [];
  const speaker = {
    text: (piece: string) => void told.push(piece),
    rests: () => void told.push('rests'),
    over: () => void told.push('over'),
    heard: () => ({ points: 0, voice: { audioMs: 0, heard: 'played', cutBy: null } as const }),
  };
  const stage = new Stage({ speaker }).start();
  stage.model.text('Let me look that up');
  stage.model.call!({ name: 'act', arguments: '{}' });
  stage.model.end();
  await settle();
  t.same(told, ['Let me look that up', 'rests'], 'no full stop is waited for');
});
