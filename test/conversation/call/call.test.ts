/** Decisions of a call's machine as the call carries them out (contract 18). */
import t from 'tap';
import type { CallEvent, CallOutcome } from '../../../machines/call.ts';
import type { TurnContext } from '../../../machines/turn.ts';
import { nobody } from '../../../src/actors/cause.ts';
import { Inspector } from '../../../src/actors/inspector.ts';
import { Call, type CallOptions } from '../../../src/conversation/call/call.ts';
import type { Reply } from '../../../src/conversation/call/reply.ts';
import type { CallSettings } from '../../../src/conversation/call/settings.ts';
import { Replies } from '../../../src/host/replies.ts';
import type { Speaker } from '../../../src/turn/ports.ts';
import { ManualClock } from '../../providers/model/provider.ts';
import { settle, Stage } from '../../turn/stage.ts';

/** A call in `thinking` without its machine, the messages to its client, and the events to its machine. */
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
  const wire = { send: (message: object) => told.push(message) };
  const options = {
    actor,
    services: { clock, host },
    session: { id: 'ses_1' },
    ready: {},
    principal: { channel: 'api', id: 'key_1', workspaceId: 'wks_1' },
    requestId: 'req_1',
    wire,
  };
  const call = new Call(options as unknown as CallOptions, {} as CallSettings);
  const withdraw = (reply: unknown): void => {
    call.reply = reply as Reply;
    actor.onDecision([{ type: 'turn.withdraw' }]);
  };
  const decide = (outcomes: readonly CallOutcome[]): void => actor.onDecision(outcomes);
  return { told, withdraw, decide, call, clock, events };
}

/** A reply that the client knows, of the turn that the runner runs. */
function replyOf(runner: { readonly turnId: string; readonly machine: { readonly context: unknown } }) {
  const actor = new Replies(new Inspector()).open({
    ...{ id: 'call_1.1', workspaceId: 'wks_1', cause: nobody, greeting: false, early: false },
  });
  for (const type of ['begun', 'announced'] as const) actor.send({ type, at: 0 });
  return {
    ...{ runner, turnId: runner.turnId, messageId: 'msg_1', isAnnounced: true, words: null, giveWords: () => null },
    send: (event: object) => actor.send({ ...event, at: 0 } as never),
    get context() {
      return actor.context;
    },
    get hasCalled() {
      return (runner.machine.context as TurnContext).called;
    },
  };
}

t.test('a turn that is taken back while its tool calls are being stored is withdrawn at once', async (t) => {
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
});

t.test('deadlines of a call keep their length when the wall clock is set', async (t) => {
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

t.test('a reply whose first audio came while it was held begins when the server drains', async (t) => {
  const { call, events, decide } = scene();
  const actor = new Replies(new Inspector()).open({
    ...{ id: 'call_1.1', workspaceId: 'wks_1', cause: nobody, greeting: false, early: false },
  });
  call.reply = {
    state: 'announced',
    send: (event: object) => {
      for (const { type } of actor.send({ ...event, at: 0 } as never))
        if (type === 'audio.ready') call.send({ type: 'audio', at: 0 });
    },
  } as unknown as Reply;
  for (const type of ['begun', 'announced', 'ready'] as const) actor.send({ type, at: 0 });
  decide([{ type: 'call.draining' }]);
  t.match(
    events.map(({ type }) => type),
    ['audio'],
  );
});
