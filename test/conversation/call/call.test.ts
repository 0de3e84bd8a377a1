/** How a call carries out what its machine decides (contract 18). */
import t from 'tap';
import type { CallEvent, CallOutcome } from '../../../machines/call.ts';
import type { TurnContext } from '../../../machines/turn.ts';
import { Call, type CallOptions } from '../../../src/conversation/call/call.ts';
import type { Reply } from '../../../src/conversation/call/reply.ts';
import type { CallSettings } from '../../../src/conversation/call/settings.ts';
import type { Speaker } from '../../../src/turn/ports.ts';
import { ManualClock } from '../../providers/model/provider.ts';
import { settle, Stage } from '../../turn/stage.ts';

/**
 * A call in `thinking`, whose machine the test speaks for, what the client is told, and the events that the machine
 * gets.
 */
function scene() {
  const told: unknown[] = [];
  const events: CallEvent[] = [];
  const clock = new ManualClock();
  const actor = {
    closed: false,
    identity: { id: 'call_1' },
    machine: { state: 'thinking', context: { bargeIn: 'words', turn: 'begun', reason: null } },
    send: (event: CallEvent) => void events.push(event),
    onDecision: (_: readonly CallOutcome[]): void => {},
  };
  const host = { turns: { population: { onBegun: () => () => {} } } };
  const options = {
    actor,
    services: { clock, host },
    session: { id: 'ses_1' },
    ready: {},
    principal: { channel: 'api', id: 'key_1', workspaceId: 'wks_1' },
    requestId: 'req_1',
    send: (message: object) => told.push(message),
  };
  const call = new Call(options as unknown as CallOptions, {} as CallSettings);
  const withdraw = (reply: unknown): void => {
    call.reply = reply as Reply;
    actor.onDecision([{ type: 'turn.withdraw' }]);
  };
  return { told, withdraw, call, clock, events };
}

const replyOf = (runner: { readonly turnId: string; readonly machine: { readonly context: unknown } }) => ({
  ...{ runner, turnId: runner.turnId, messageId: 'msg_1', isTold: true, words: null, mouth: { stop: () => {} } },
  get hasCalled() {
    return (runner.machine.context as TurnContext).called;
  },
});

t.test(
  'a turn that is taken back while its calls are being stored is withdrawn, though the steps of the call wait',
  async (t) => {
    const { told, withdraw } = scene();
    let isGone = (): void => {};
    const ended = new Promise<void>((resolve) => (isGone = resolve));
    withdraw(replyOf({ turnId: 'turn_0', machine: { context: { called: false } }, ...{ endSpeech: () => {}, ended } }));

    const stage = new Stage({
      speaker: {
        text: () => {},
        rests: () => {},
        over: () => {},
        heard: () => ({ points: 0, voice: { audioMs: 0, heard: 'estimated', cutBy: null } }),
      } satisfies Speaker,
    }).start();
    await stage.runner.announce();
    stage.model.call!({ name: 'look', arguments: '{}' });
    stage.model.end();
    await settle();
    t.equal(stage.steps.length, 1, 'the calls are on their way to the store');
    withdraw(replyOf(stage.runner));
    stage.steps[0]!.resolve('stored');
    await settle();
    t.match(
      { state: stage.runner.machine.state, withdrawals: stage.withdrawals.length },
      { state: 'withdrawing', withdrawals: 1 },
    );
    stage.withdrawals[0]?.resolve(true);
    isGone();
    await stage.runner.ended;
    await settle();
    t.match(
      told.filter((message) => (message as { type: string }).type === 'turn.withdrawn'),
      [{ turn_id: 'turn_0' }, { turn_id: 'turn_1' }],
    );
    t.same(stage.finishes, [], 'it has no other end');
  },
);

t.test('deadlines of a call last as long as they should, although the wall clock is set', async (t) => {
  const { call, clock, events } = scene();
  const since = clock.now();
  for (const setMs of [-3_600_000, 7_200_000]) {
    clock.jump(setMs);
    clock.advance(1000);
    call.interrupt();
  }
  t.same(
    events.map(({ at }) => at - since),
    [1000, 2000],
  );
});
