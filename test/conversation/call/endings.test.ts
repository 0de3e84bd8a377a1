/** How the replies of a call end (contract 18). */
import t from 'tap';
import { Endings, type EndingsOptions } from '../../../src/conversation/call/endings.ts';
import type { Reply } from '../../../src/conversation/call/reply.ts';

t.test('a client is told of a withdrawal once nothing of the turn is stored, whoever has withdrawn it', async (t) => {
  for (const way of ['cut', 'withdraw'] as const) {
    let isGone = (): void => {};
    const ended = new Promise<void>((resolve) => (isGone = resolve));
    const events: string[] = [];
    const runner = {
      turnId: 'turn_a',
      ended,
      endSpeech: (end: string) => events.push(end),
      machine: { context: {} },
      log: { terminal: null },
    };
    const reply = {
      messageId: 'msg_a',
      turnId: 'turn_a',
      words: 'Hello',
      isTold: true,
      hasCalled: false,
      runner,
      settle: async () => ({ points: 0 }),
    } as unknown as Reply;
    const endings = new Endings({
      services: { metrics: { calls: { interruptions: { inc: () => {} } } } },
      ...{
        isOver: () => false,
        reason: () => null,
        leave: () => {},
        stays: () => {},
        putBack: (words: unknown) => events.push(`put back: ${words}`),
      },
      ...{ tell: ({ type }: { type: string }) => events.push(type), failed: (error: unknown) => t.fail(String(error)) },
    } as unknown as EndingsOptions);
    if (way === 'cut') endings.cut(reply, 'client');
    else endings.step(() => endings.withdraw(reply));
    await new Promise(setImmediate);
    const before = way === 'cut' ? ['put back: Hello', 'unheard'] : ['unheard'];
    t.same(events, before, 'nothing is told while the store holds it');
    isGone();
    await endings.steps;
    t.same(events, [...before, 'turn.withdrawn']);
  }
});

t.test('a turn that a request has ended before its cut was answered is not taken back', async (t) => {
  for (const runner of [
    { machine: { context: { ending: 'aborted' } }, log: { terminal: null } },
    { machine: { context: {} }, log: { terminal: { type: 'turn.aborted' } } },
  ]) {
    const events: string[] = [];
    const reply = {
      ...{
        messageId: 'msg_a',
        turnId: 'turn_a',
        words: 'Hello',
        isTold: true,
        hasCalled: false,
        settle: async () => ({ points: 0 }),
      },
      runner: { ...runner, ended: Promise.resolve(), endSpeech: (end: string) => events.push(end) },
    } as unknown as Reply;
    const endings = new Endings({
      services: { metrics: { calls: { interruptions: { inc: () => {} } } } },
      ...{
        isOver: () => false,
        leave: () => {},
        stays: () => events.push('stays'),
        putBack: (words: unknown) => events.push(`put back: ${words}`),
      },
      ...{ tell: () => {}, failed: () => {} },
    } as unknown as EndingsOptions);
    endings.cut(reply, 'speech');
    await endings.steps.catch(() => {});
    t.same(events, ['stays']);
  }
});
