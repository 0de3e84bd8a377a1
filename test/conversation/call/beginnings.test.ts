/** How the turns of a call begin (contract 18). */
import t from 'tap';
import { Beginnings, type BeginningsOptions } from '../../../src/conversation/call/beginnings.ts';

t.test('the words of a turn that was taken back before it could begin stay in hand', async (t) => {
  const kept: unknown[] = [];
  const words = { text: 'Hello', fromMs: 0, toMs: 500 };
  let step: () => unknown = () => {};
  const reply = { isLeft: false, words: null };
  const hearing = { take: () => words, putBack: (back: unknown) => void kept.push(back) };
  const endings = { returned: 0, owesWords: false, step: (act: () => unknown) => (step = act) };
  const beginnings = new Beginnings({
    hearing,
    endings,
    newReply: () => reply,
    send: () => t.fail('nothing is sent'),
  } as unknown as BeginningsOptions);
  beginnings.begin(null);
  reply.isLeft = true;
  await step();
  t.same(kept, [words]);
});
