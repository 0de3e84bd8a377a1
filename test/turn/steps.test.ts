/** The steps of a turn's machine as watchers see them, and events that cross each other on the way. */
import t from 'tap';
import { Inspector } from '../../src/actors/inspector.ts';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { pastOf } from '../../src/turn/event-log.ts';
import { counted, settle, Stage } from './stage.ts';
import { fateMs, fateReadersMs } from '../../src/turn/end-steps.ts';
import { storeRetryMsMax } from '../../src/base/store-retry.ts';

/** A stage whose steps are noted in words. */
function watched({ unsure = false } = {}): { stage: Stage; shown: string[] } {
  const inspector = new Inspector();
  const shown: string[] = [];
  inspector.watch((inspected) =>
    shown.push(
      inspected.type === 'event'
        ? `${inspected.seq} ${inspected.event.type}: ${inspected.from} → ${inspected.to}`
        : `${inspected.type} ${inspected.state}`,
    ),
  );
  return { stage: new Stage({ unsure, inspector }).start(), shown };
}

t.test('the steps of a turn are shown to watchers', async (t) => {
  const { stage, shown } = watched();
  await stage.says('one ');
  await stage.says('two');
  stage.model.end();
  await settle();
  stage.finishes[0]!.resolve(counted);
  await settle();
  void stage.runner.stop('aborted');
  t.same(
    shown,
    [
      'activated waiting',
      '1 output: waiting → starting',
      '2 stored: starting → answering',
      '3 ended: answering → sealing',
      '4 sealed: sealing → completed',
      'passivated completed',
    ],
    'a piece of text is none, and nothing comes after the end',
  );
});

t.test('the steps of a turn have the numbers of its history', async (t) => {
  const { stage, shown } = watched();
  await stage.says('one ');
  stage.model.end();
  for (let tries = 0; tries < 3; tries++) {
    await settle();
    stage.finishes.at(-1)!.reject(new StoreUnavailable('away'));
    await settle();
    stage.clock.advance(storeRetryMsMax);
  }
  await settle();
  const { past } = stage.runner;
  stage.finishes.at(-1)!.resolve(counted);
  await settle();
  const kept = pastOf(past, { atMs: stage.clock.now() }).map(
    ({ event, from, to }, index) => `${index + 1} ${event.type}: ${from} → ${to}`,
  );
  t.same(
    kept.slice(-2),
    ['4 unsealed: sealing → sealing', '5 sealed: sealing → failed'],
    'an end that is not taken for the same fault is one step',
  );
  t.same([...new Set(shown.filter((line) => /^\d/.test(line)))], kept);
  t.equal(stage.ends, 1);
});

t.test('an event after the end of a turn is ignored', async (t) => {
  const { stage, shown } = watched({ unsure: true });
  stage.model.text('one ');
  await settle();
  stage.appends[0]!.resolve('fenced');
  await settle();
  stage.clock.advance(fateMs);
  await settle();
  stage.fates[0]!.resolve({ terminal: { type: 'aborted' }, text: 'one ', calls: [] });
  await settle();
  t.same(
    [stage.begun, stage.seen, stage.end],
    ['unavailable', '', null],
    'a chat that got an error shows neither text nor end',
  );
  stage.withdrawals[0]!.resolve(true);
  await settle();
  t.same(
    [stage.end, shown.at(-1), shown.filter((line) => line.includes('fate'))],
    ['api_error', 'passivated withdrawn', []],
  );

  const early = watched();
  early.stage.model.text('one ');
  await settle();
  early.stage.runner.lost();
  early.stage.withdrawals[0]!.resolve(true);
  await settle();
  early.stage.appends[0]!.resolve('stored');
  await settle();
  t.equal(early.shown.at(-1), 'passivated withdrawn');
});

t.test(
  'a turn whose lease is refused while its first piece is on its way stores its end after the piece',
  async (t) => {
    const begun = async (): Promise<Stage> => {
      const stage = new Stage({ unsure: true }).start();
      stage.model.text('one ');
      await settle();
      stage.runner.fenced();
      await settle();
      t.same([stage.begun, stage.fates.length, stage.cancelled], [null, 1, 1]);
      stage.appends[0]!.resolve('stored');
      await settle();
      t.same(
        [stage.begun, stage.seen, stage.finishes.length, stage.over, stage.wanted()],
        ['begun', 'one ', 1, false, false],
      );
      return stage;
    };
    const own = await begun();
    own.fates[0]!.resolve('unknown');
    own.finishes[0]!.resolve(counted);
    await settle();
    t.same(
      [own.seen, own.end, own.withdrawals.length, own.statuses, own.clock.timers],
      ['one ', 'api_error', 0, ['failed'], 0],
    );

    const taken = await begun();
    taken.finishes[0]!.resolve('fenced');
    await settle();
    taken.fates[0]!.resolve('unknown');
    await settle();
    t.same(
      [taken.over, taken.end, taken.runner.log.cutOff],
      [true, null, false],
      'the first answer is about what was asked before',
    );
    taken.fates[1]!.resolve({ terminal: { type: 'aborted' }, text: '', calls: [] });
    await settle();
    t.same(
      [taken.seen, taken.end, taken.withdrawals.length, taken.statuses, taken.clock.timers],
      ['one ', 'aborted', 0, ['aborted'], 0],
    );
  },
);

t.test('a wait for the store does not shorten the wait for another process', async (t) => {
  const stage = new Stage({ unsure: true }).start();
  await stage.says('one ');
  stage.runner.log.follow(() => {});
  stage.model.end();
  await settle();
  stage.finishes[0]!.reject(new RangeError('a hole'));
  await settle();
  const waitMs = limits.leaseMs + fateReadersMs;
  stage.clock.advance(waitMs - 1000);
  await settle();
  stage.finishes.at(-1)!.resolve('fenced');
  await settle();
  stage.clock.advance(waitMs - 1);
  t.same([stage.runner.log.cutOff, stage.wanted()], [false, true]);
  stage.clock.advance(1);
  t.same([stage.runner.log.cutOff, stage.wanted(), stage.statuses, stage.clock.timers], [true, false, ['failed'], 0]);
});

t.test('a fault in the program is reported, and every waiting request is answered', async (t) => {
  const stage = new Stage().start();
  const bug = new TypeError('a bug');
  stage.runner.log.follow(() => {
    throw bug;
  });
  stage.model.end();
  await settle();
  stage.finishes[0]!.resolve(counted);
  await settle();
  t.same(
    [stage.begun, stage.over, stage.settled, stage.statuses, stage.faults, stage.clock.timers],
    ['begun', true, true, ['completed'], [{ reason: 'error', cause: bug }], 0],
  );

  const inspector = new Inspector();
  inspector.watch(() => {
    throw bug;
  });
  const seen = new Stage({ inspector }).start();
  await seen.says('one ');
  seen.model.end();
  await settle();
  seen.finishes[0]!.resolve(counted);
  await settle();
  t.same([seen.seen, seen.end, seen.over], ['one ', 'completed', true]);
});
