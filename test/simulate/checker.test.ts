/** The checker's reading of what a model was sent. */
import t from 'tap';
import type { ModelMessage } from '../../src/providers/model.ts';
import { cutReply } from '../../src/providers/model/history.ts';
import { understood } from './checker.ts';
import { answeringOf } from './history.ts';
import { Oracle, type TurnState } from './oracle.ts';

const callOf = (id: string): ModelMessage[] => [
  { role: 'assistant', content: `Wait for ${id}. `, calls: [{ id, name: 'mine', arguments: '{}' }] },
  { role: 'tool', callId: id, content: 'output' },
];
/** A call that waits, a message for a person, and the answer to the call. */
const messages: readonly ModelMessage[] = [
  { role: 'user', content: 'One' },
  ...callOf('call_1'),
  { role: 'assistant', content: cutReply },
  { role: 'user', content: 'Two' },
];

/** An oracle that knows one turn, which has answered or declined the call. */
function oracleOf(turn: Pick<TurnState, 'prompt' | 'before'>): Oracle {
  const oracle = new Oracle(true);
  oracle.calls.answering.set('call_1', ['turn_1']);
  oracle.state.turns.set('turn_1', turn as TurnState);
  return oracle;
}

const answering = oracleOf({ prompt: answeringOf(['call_1']), before: ['One', 'Wait for call_1. ', 'Two'] });

t.test('a turn that answers a call is recognized after a message for a person', async (t) => {
  t.same(understood(answering, { messages, text: 'Done' }), {
    prompt: 'answers call_1',
    before: messages,
    text: 'Done',
  });
});

t.test('the second round of an answering turn has the text of the first', async (t) => {
  t.same(understood(answering, { messages: [...messages, ...callOf('call_2')], text: 'Done' }), {
    prompt: 'answers call_1',
    before: messages,
    text: 'Wait for call_2. Done',
  });
});

t.test('a message that declines a call is the prompt of its turn', async (t) => {
  const declining = oracleOf({ prompt: 'Two', before: ['One', 'Wait for call_1. '] });
  t.same(understood(declining, { messages, text: 'Done' }), {
    prompt: 'Two',
    before: messages.slice(0, -1),
    text: 'Done',
  });
});
