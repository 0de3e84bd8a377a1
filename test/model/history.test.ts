import t from 'tap';
import { cutHistory } from '../../src/model/history.ts';
import type { ModelMessage } from '../../src/model.ts';

const say = (role: 'user' | 'assistant', content: string): ModelMessage => ({ role, content });
const conversation = [say('assistant', 'aaaa'), say('user', 'bbbb'), say('assistant', 'cccc'), say('user', 'dddd')];

t.test('all of it where it fits, and then ever fewer from the front', async (t) => {
  for (const [tokens, kept] of [[100, 4], [4, 4], [3, 3], [2, 2], [1, 1]] as const) {
    t.same(cutHistory(conversation, null, tokens), conversation.slice(4 - kept), `${tokens} tokens`);
  }
});

t.test('the system prompt counts', async (t) => {
  t.equal(cutHistory(conversation, 'ssssssss', 4).length, 2);
  t.equal(cutHistory(conversation, 's'.repeat(1000), 4).length, 1);
});

t.test('the newest message of the user stays whole, whatever it costs', async (t) => {
  const long = say('user', 'x'.repeat(1000));
  t.same(cutHistory([...conversation, long], 'prompt', 10), [long]);
  t.same(cutHistory([...conversation, long], null, 0), [long]);
  t.same(cutHistory([say('user', 'a'), long, say('assistant', 'b')], null, 0), [long, say('assistant', 'b')]);
});

t.test('a message that does not fit hides those before it, small as they are', async (t) => {
  t.same(cutHistory([say('user', 'a'), say('assistant', 'x'.repeat(100)), say('user', 'b')], null, 10), [say('user', 'b')]);
});

t.test('messages without content are dropped', async (t) => {
  t.same(cutHistory([say('user', 'a'), say('assistant', ''), say('assistant', ' \n'), say('user', 'b')], null, 100), [say('user', 'a'), say('user', 'b')]);
  t.same(cutHistory([], null, 100), []);
});

t.test('characters are code points', async (t) => {
  const emoji = [say('user', '😀😀😀😀'), say('user', '😀😀😀😀')];
  t.equal(cutHistory(emoji, null, 2).length, 2);
  t.equal(cutHistory([say('user', '\udc00\udc00\ud83d\ud83d'), say('user', 'x')], null, 2).length, 2);
});
