/** Faults of ours in a turn: told once, with their cause, and tried again only where that helps. */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { counted, settle, Stage, turnMsMax } from './stage.ts';
import { faultTriesMax } from '../../src/turn/end-steps.ts';
import { storeRetryMsMax } from '../../src/base/store-retry.ts';

const away = new StoreUnavailable('the store is away');

t.test('a fault of the server is reported once, with its cause', async (t) => {
  const told = (stage: Stage) => stage.faults.map(({ reason, cause }) => [reason, cause]);
  const late = new Stage().start();
  await late.says('one ');
  late.clock.advance(turnMsMax);
  await settle();
  late.finishes[0]!.reject(away);
  await settle();
  t.same(told(late), [['time_limit', null]], 'what follows from it is not another');

  const long = new Stage().start();
  long.model.text('x'.repeat(limits.outputCharactersMax + 1));
  t.same(told(long), [['output_limit', null]]);

  const fenced = new Stage().start();
  await fenced.says('one ');
  fenced.model.text('two');
  await settle();
  fenced.appends[1]!.resolve('fenced');
  await settle();
  t.same([told(fenced), fenced.statuses, fenced.left], [[], [], 1], 'how it ended is not known yet');
  fenced.fates[0]!.resolve(null);
  await settle();
  t.same([told(fenced), fenced.statuses, fenced.left], [[['fence_lost', null]], ['failed'], 1]);

  const slotless = new Stage().start();
  await slotless.says('one ');
  slotless.runner.fenced();
  await settle();
  t.same([slotless.cancelled, told(slotless)], [1, []]);
  slotless.finishes[0]!.resolve(counted);
  await settle();
  t.same(
    [slotless.end, told(slotless), slotless.statuses],
    ['api_error', [['lease_lost', null]], ['failed']],
    'the turn was still its own to end',
  );

  const lost = new Stage().start();
  lost.runner.lost();
  t.same(told(lost), [['lease_lost', null]]);

  const ending = new Stage().start();
  void ending.runner.stop('drain');
  t.same(told(ending), [['drain', null]]);

  for (const [reason, cause] of [
    ['store_away', away],
    ['store_forgot', new RangeError('a hole')],
    ['error', new TypeError('a bug')],
  ] as const) {
    const stage = new Stage().start({ fault: cause });
    await settle();
    t.same([told(stage), stage.withdrawals.length], [[[reason, cause]], 1]);
    stage.withdrawals[0]!.resolve(true);
    await settle();
    t.same([stage.begun, stage.statuses], ['unavailable', ['withdrawn']]);
  }

  const well = new Stage().start();
  await well.says('one ');
  void well.runner.stop('aborted');
  await settle();
  well.finishes[0]!.resolve(counted);
  await settle();
  t.same([told(well), well.statuses], [[], ['aborted']]);
});

t.test('a fault in the program ends the attempts to store', async (t) => {
  const stage = new Stage().start();
  await stage.says('one ');
  stage.model.end();
  await settle();
  for (let tries = 0; tries < faultTriesMax; tries++) {
    t.equal(stage.finishes.length, tries + 1);
    stage.finishes[tries]!.reject(new TypeError('a bug'));
    await settle();
    stage.clock.advance(storeRetryMsMax);
    await settle();
  }
  t.same([stage.finishes.length, stage.clock.timers, stage.statuses], [faultTriesMax, 0, ['failed']]);
  t.match(stage.faults, [{ reason: 'error', cause: TypeError }]);
});
