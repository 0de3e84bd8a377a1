/** The steps of a turn as its session's history keeps them. */
import t from 'tap';
import { turnVersion, type TurnEvent } from '../../machines/turn.ts';
import { nobody } from '../../src/actors/cause.ts';
import { limits } from '../../src/base/limits.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { causeOf, pastOf, TurnEventLog } from '../../src/turn/event-log.ts';
import { settle, Stage } from './stage.ts';

const input = { runsUntil: 1e12, shared: true };
const unsealed = (at: number, fault = 'store_away'): TurnEvent => ({
  type: 'unsealed',
  at,
  fault,
  certain: false,
  last: false,
  until: at + 1000,
});

t.test('an end that the store rejects repeatedly is one step for each fault', async (t) => {
  const events = new TurnEventLog('turn_1', input);
  t.same(
    [1, 2, 3].map((at) => events.note(unsealed(at), false)),
    [true, false, false],
  );
  t.equal(events.note(unsealed(4, 'error'), false), true);
  t.same(
    events.past().events.map(({ at }) => at),
    [1, 4],
  );
});

t.test('the event log of a turn keeps a bounded number of events', async (t) => {
  const events = new TurnEventLog('turn_1', input);
  const steps = Array.from({ length: 10_000 }, (_, at) =>
    events.note(at % 2 === 0 ? unsealed(at) : { type: 'tick', at }, false),
  );
  t.ok(
    steps.every((isStep) => isStep),
    'each is a step',
  );
  t.equal(events.past().events.length, limits.turnEventsKept);
});

t.test('a stored event log keeps its events while its turn continues', async (t) => {
  const events = new TurnEventLog('turn_1', input);
  events.note({ type: 'output', at: 1 }, true);
  const stored = events.past();
  events.note({ type: 'stored', at: 2 }, true);
  t.equal(stored.events.length, 1);
});

t.test('the steps of a later version of the machine are left out', async (t) => {
  const past = {
    turnId: 'turn_1',
    version: turnVersion,
    ...input,
    events: [{ type: 'output', at: 1 }],
    stoppedBy: nobody,
  };
  t.match(pastOf(past, null), [{ from: 'waiting', to: 'starting' }]);
  t.same(pastOf({ ...past, version: turnVersion + 1 }, null), []);
});

t.test('each step of a turn has the cause of its event', async (t) => {
  const chat = { requestId: 'req_chat', by: null };
  const stop = { requestId: 'req_stop', by: null };
  for (const [type, ending, cause] of [
    ['output', null, chat],
    ['stop', null, stop],
    ['sealed', 'completed', chat],
    ['sealed', 'provider', chat],
    ['sealed', 'aborted', stop],
    ['sealed', 'expired', nobody],
    ['sealed', 'ours', nobody],
    ['lease.lost', null, nobody],
    ['tick', null, nobody],
  ] as const) {
    t.equal(causeOf(type, ending, chat, stop), cause, `${type} ${ending}`);
  }
});

t.test('the first stop is the cause of the end', async (t) => {
  const stage = new Stage({ unsure: true }).start();
  await stage.says('one ');
  const [first, second] = [
    { requestId: 'req_1', by: null },
    { requestId: 'req_2', by: null },
  ];
  void stage.runner.stop('aborted', first);
  await settle();
  void stage.runner.stop('aborted', second);
  stage.finishes[0]!.reject(new StoreUnavailable('away'));
  await settle();
  t.equal(stage.runner.past.stoppedBy, first);
});
