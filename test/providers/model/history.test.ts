import fc from 'fast-check';
import t from 'tap';
import {
  alternating,
  cutHistory,
  cutReply,
  modelMessages,
  waitingReply,
  withPromptInside,
  type PastMessage,
} from '../../../src/providers/model/history.ts';
import { estimateInputTokens, estimateTokens } from '../../../src/providers/model.ts';
import type { ModelMessage } from '../../../src/providers/model.ts';

const say = (role: 'user' | 'assistant', content: string): ModelMessage => ({ role, content });
const conversation = [say('assistant', 'aaaa'), say('user', 'bbbb'), say('assistant', 'cccc'), say('user', 'dddd')];
const cut = (messages: readonly ModelMessage[], tokensMax: number) => cutHistory(messages, tokensMax).messages;

t.test('all of it where it fits, and then ever fewer from the front; an answer goes with its question', async (t) => {
  for (const [tokens, kept] of [
    [100, 4],
    [4, 4],
    [3, 3],
    [2, 1],
    [1, 1],
    [0, 1],
  ] as const) {
    t.same(
      cutHistory(conversation, tokens),
      { messages: conversation.slice(4 - kept), leftOut: 4 - kept },
      `${tokens} tokens`,
    );
  }
});

t.test('the newest message of the user stays whole, whatever it costs', async (t) => {
  const long = say('user', 'x'.repeat(1000));
  t.same(cut([...conversation, long], 10), [long]);
  t.same(cut([...conversation, long], 0), [long]);
  t.same(cut([say('user', 'a'), long, say('assistant', 'b')], 0), [long, say('assistant', 'b')]);
});

t.test('a message that does not fit hides those before it, small as they are', async (t) => {
  t.same(cutHistory([say('user', 'a'), say('assistant', 'x'.repeat(100)), say('user', 'b')], 10), {
    messages: [say('user', 'b')],
    leftOut: 2,
  });
});

t.test('messages without text are dropped, and none of them is missed', async (t) => {
  t.same(cutHistory([say('user', 'a'), say('assistant', ''), say('assistant', ' \n'), say('user', 'b')], 100), {
    messages: [say('user', 'a'), say('user', 'b')],
    leftOut: 0,
  });
  t.same(cut([], 100), []);
});

t.test('the results that a turn answers with are sent in full after messages for a person', async (t) => {
  const output = 'x'.repeat(5000);
  const call = { id: 'call_1', name: 'mine', round: 0, position: 0, arguments: {}, error: null, output };
  const reply = {
    role: 'assistant',
    content: '',
    turnId: 'turn_1',
    toolCalls: [{ ...call, status: 'completed', wants: 'result' }],
  } as const;
  const accepted = { role: 'user', content: 'Is anybody there?', turnId: null } as const;
  const notice = { role: 'notice', content: 'Nobody is free.', turnId: null } as const;
  const lengthIn = (later: Parameters<typeof modelMessages>[0]) =>
    modelMessages([reply, ...later]).find(({ role }) => role === 'tool')!.content.length;
  t.equal(lengthIn([]), 5000);
  t.equal(lengthIn([notice, accepted, notice]), 5000);
  t.equal(lengthIn([accepted, { ...accepted, turnId: 'turn_2' }]), 2000, 'and shortened in the next turn');
  t.equal(lengthIn([{ role: 'user', content: 'Next' }]), 2000);
});

const waiting = (status: string): PastMessage => ({
  role: 'assistant',
  content: '',
  turnId: 'turn_1',
  toolCalls: [
    {
      id: 'call_1',
      name: 'mine',
      round: 0,
      position: 0,
      arguments: {},
      error: null,
      output: 'o',
      status,
      wants: 'result',
    },
  ],
});
const asked: PastMessage = { role: 'user', content: 'q'.repeat(40), turnId: 'turn_1' };
const forPerson: PastMessage = { role: 'user', content: 'Is anybody there?', turnId: null };
const sentencesAfterResults = (messages: readonly ModelMessage[]) =>
  messages.flatMap(({ role, content }, index) =>
    role === 'assistant' && messages[index - 1]?.role === 'tool' ? [content] : [],
  );

t.test('a reply whose calls waited was not cut: its end says so before messages for a person', async (t) => {
  const next: PastMessage = { role: 'user', content: 'Next', turnId: 'turn_2' };
  for (const [status, later] of [
    ['completed', [forPerson]],
    ['completed', [forPerson, next]],
    ['declined', [next]],
  ] as const) {
    const { messages } = cutHistory(modelMessages([asked, waiting(status), ...later]), 1000);
    t.same(sentencesAfterResults(messages), [waitingReply], `${status}, ${later.length} later`);
  }
  const [, { toolCalls = [], ...reply }] = [asked, waiting('completed')];
  const own = { ...reply, toolCalls: toolCalls.map(({ wants: _, ...call }) => call) };
  t.same(sentencesAfterResults(cut(modelMessages([asked, own, next]), 1000)), [cutReply], 'a turn cut after results');
});

t.test('the results that a turn answers stay with their question, however small the budget is', async (t) => {
  const messages = modelMessages([forPerson, asked, waiting('completed'), forPerson, forPerson]);
  const { messages: kept, leftOut } = cutHistory(messages, 1);
  t.same(
    kept.map(({ role }) => role),
    ['user', 'assistant', 'tool', 'assistant', 'user', 'user'],
  );
  t.equal(leftOut, 1);
  t.same(cutHistory(kept, 1).messages, kept, 'also when a provider refuses the request for its length');
});

t.test('an estimate counts Latin by four, other alphabets by two and the rest by one', async (t) => {
  const cases: [string, number][] = [
    ['', 0],
    ['a', 1],
    ['abcd', 1],
    ['abcde', 2],
    ['grüße ñ', 2],
    ['привет', 3],
    ['αβ', 1],
    ['日本語', 3],
    ['한국어', 3],
    ['😀😀', 2],
    ['ab日', 2],
    ['“a”', 2],
    ['ｱＡ', 2],
  ];
  for (const [text, tokens] of cases) t.equal(estimateTokens(text), tokens, text);
  t.equal(estimateInputTokens([{ content: 'a' }, { content: 'bcd' }, { content: '日' }]), 2, 'rounded up once');
  t.equal(
    cut([say('user', '日本語日'), say('assistant', 'ok'), say('user', 'x')], 5).length,
    1,
    'four characters are four tokens',
  );
});

t.test('neighbours of one role are one message, and an answer that stands first may go', async (t) => {
  const of = (roles: string) =>
    [...roles].map((role, index) => say(role === 'u' ? 'user' : 'assistant', String(index)));
  t.same(alternating(of('aau'), false), [say('user', '2')]);
  t.same(alternating(of('aau'), true), [say('assistant', '0\n\n1'), say('user', '2')]);
  t.same(alternating(of('uuaau'), false), [say('user', '0\n\n1'), say('assistant', '2\n\n3'), say('user', '4')]);
  t.same(alternating([], true), []);
  t.same(withPromptInside(of('aua'), 'Be kind.'), [
    say('assistant', '0'),
    say('user', 'Be kind.\n\n1'),
    say('assistant', '2'),
  ]);
});

t.test('whatever was said before, roles alternate, nothing is empty, and the newest message stands last', async (t) => {
  const content = fc.oneof(
    fc.constantFrom('', ' ', '\n'),
    fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }),
    fc.constant('x'.repeat(400)),
  );
  const before = fc.array(fc.record({ role: fc.constantFrom('user' as const, 'assistant' as const), content }), {
    maxLength: 12,
  });
  const now = fc.string({ minLength: 1, maxLength: 200 }).filter((text) => text.trim() !== '');
  fc.assert(
    fc.property(before, now, fc.nat(200), fc.boolean(), (said, message, tokensMax, answerFirst) => {
      const all = [...said, say('user', message)];
      const { messages, leftOut } = cutHistory(all, tokensMax);
      const sent = alternating(messages, answerFirst);
      const readable = all.filter(({ content }) => content.trim() !== '').length;
      return (
        sent.every(({ role }, index) => index === 0 || role !== sent[index - 1]!.role) &&
        sent.every(({ content }) => content.trim() !== '') &&
        (answerFirst || sent[0]!.role === 'user') &&
        sent.at(-1)!.role === 'user' &&
        sent.at(-1)!.content.endsWith(message) &&
        (leftOut === 0 || sent[0]!.role === 'user') &&
        messages.length + leftOut === readable &&
        (messages.length === 1 ||
          leftOut === 0 ||
          estimateTokens(messages.map(({ content }) => content).join('')) <=
            Math.max(tokensMax, estimateTokens(message)))
      );
    }),
    { numRuns: 1000, seed: Number(process.env['PARLEY_TEST_SEED'] ?? 20_261_125) },
  );
  t.pass();
});
