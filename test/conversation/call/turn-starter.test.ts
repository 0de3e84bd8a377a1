/** The beginnings of a call's turns (contract 18). */
import t from 'tap';
import { TurnStarter, type TurnStarterOptions } from '../../../src/conversation/call/turn-starter.ts';

t.test('the words of a turn that was taken back before it could begin return to the pending transcript', async (t) => {
  const kept: unknown[] = [];
  const words = { text: 'Hello', fromMs: 0, toMs: 500 };
  let step: () => unknown = () => {};
  const reply = {
    isOpen: true,
    words: null as unknown,
    takeWords: (taken: unknown) => (reply.words = taken),
    giveWords: () => reply.words,
  };
  const speech = { take: () => words, putBack: (back: unknown) => void kept.push(back) };
  const finisher = { returned: 0, owesWords: false, step: (act: () => unknown) => (step = act) };
  const starter = new TurnStarter({
    speech,
    finisher,
    newReply: () => reply,
    port: { send: () => t.fail('nothing is sent') },
  } as unknown as TurnStarterOptions);
  starter.begin(null);
  reply.isOpen = false;
  await step();
  t.same(kept, [words]);
});
