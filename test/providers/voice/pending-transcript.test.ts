/** The words in hand of a person in a call (contract 18). */
import t from 'tap';
import { PendingTranscript } from '../../../src/providers/voice/pending-transcript.ts';

const words = (text: string) => ({ text, fromMs: 0, toMs: 1_000 });

t.test('what does not fit into a message is left over until the message comes back', async (t) => {
  const hand = new PendingTranscript();
  hand.add(words('a'.repeat(7_995)));
  hand.type('and what was typed');
  const taken = hand.take()!;
  t.same([taken.text, hand.text, hand.isLeftOver], [`${'a'.repeat(7_995)} and`, 'what was typed', true]);
  hand.putBack(taken);
  t.same([hand.text, hand.isLeftOver], [`${'a'.repeat(7_995)} and what was typed`, false]);
  hand.take();
  t.match(hand.take(), { text: 'what was typed', typed: true });
  t.same([hand.text, hand.isLeftOver], ['', false]);
});

t.test('a text that is dropped leaves what was said', async (t) => {
  const hand = new PendingTranscript();
  hand.add(words('before'));
  hand.type('typed');
  hand.add(words('behind'));
  hand.untype();
  t.equal(hand.text, 'before behind');
});
