/** The ends of a call's replies (contract 18). */
import t from 'tap';
import { Inspector } from '../../../src/actors/inspector.ts';
import { nobody } from '../../../src/actors/cause.ts';
import type { Reply } from '../../../src/conversation/call/reply.ts';
import { TurnFinisher, type TurnFinisherOptions } from '../../../src/conversation/call/turn-finisher.ts';
import { Replies } from '../../../src/host/replies.ts';

const spokenEvents = ['begun', 'announced', 'begin'] as const;

/** Makes a reply with its machine and the runner of its turn, spoken by default; its listener has heard nothing. */
function spoken(runner: object, events: readonly ('ask' | (typeof spokenEvents)[number])[] = spokenEvents) {
  const actor = new Replies(new Inspector()).open({
    ...{ id: 'call_a.1', workspaceId: 'wks_a', cause: nobody, greeting: false, early: false },
  });
  for (const type of events) actor.send({ type, at: 0 });
  let words: string | null = 'Hello';
  const reply = {
    ...{ messageId: 'msg_a', turnId: 'turn_a', hasCalled: false, position: Promise.resolve({ points: 0, voice: {} }) },
    runner: { turnId: 'turn_a', ...runner },
    send: (event: object) => actor.send({ ...event, at: 0 } as never),
    giveWords: () => [words, (words = null)][0],
    get words() {
      return words;
    },
    get context() {
      return actor.context;
    },
  };
  return reply as unknown as Reply;
}

function finisherFor(events: string[]): TurnFinisher {
  const metrics = { calls: { interruptions: { inc: () => {} }, heard: { inc: () => {} } } };
  const options = {
    port: {
      ...{ services: { metrics }, principal: { channel: 'api', id: 'key_a' }, requestId: 'req_a', context: {}, now: 0 },
      ...{ isClosed: false, broke: (error: unknown) => t.fail(String(error)) },
      tell: ({ type }: { type: string }) => void events.push(type),
    },
    speech: { putBack: (words: unknown) => void events.push(`put back: ${words}`) },
    ended: () => {},
  };
  return new TurnFinisher(options as unknown as TurnFinisherOptions);
}

t.test('a client is told of a withdrawal once the store has removed the turn', async (t) => {
  for (const way of ['cut', 'withdraw'] as const) {
    let remove = (): void => {};
    const ended = new Promise<void>((resolve) => (remove = resolve));
    const events: string[] = [];
    const reply = spoken({
      ended,
      endSpeech: (end: string) => void events.push(end),
      machine: { context: {} },
      log: { terminal: null },
    });
    const finisher = finisherFor(events);
    if (way === 'cut') finisher.cut(reply, 'client');
    else finisher.withdraw(reply, false, 'client');
    await new Promise(setImmediate);
    t.same([...new Set(events)], ['put back: Hello', 'unheard'], 'the client waits for the store');
    remove();
    await finisher.steps;
    t.same([...new Set(events)], ['put back: Hello', 'unheard', 'turn.withdrawn']);
  }
});

t.test('a turn that a request ended before its cut was answered stays', async (t) => {
  for (const runner of [
    { machine: { context: { ending: 'aborted' } }, log: { terminal: null } },
    { machine: { context: {} }, log: { terminal: { type: 'aborted' } } },
  ]) {
    const events: string[] = [];
    const reply = spoken({ ...runner, ended: Promise.resolve(), endSpeech: (end: string) => void events.push(end) });
    const finisher = finisherFor(events);
    finisher.cut(reply, 'speech');
    await finisher.steps;
    t.same(
      events.filter((event) => event !== 'turn.aborted'),
      [],
    );
    t.equal(reply.send({ type: 'leave' })[0]?.type, 'unchanged');
  }
});

t.test('[D2] words of a withdrawn reply return once the store has answered that it does not have them', async (t) => {
  for (const [type, returned] of [
    ['accepted', []],
    ['refused', ['put back: Hello']],
  ] as const) {
    const events: string[] = [];
    const finisher = finisherFor(events);
    const reply = spoken({}, ['ask']);
    finisher.withdraw(reply, false, 'speech');
    t.same(events, [], 'the store may have them');
    t.ok(finisher.owesWords);
    finisher.answered(reply, reply.send({ type }));
    t.same(events, returned, type);
    t.notOk(finisher.owesWords);
    t.equal(reply.words, null);
  }
});
