import { join } from 'node:path';
import t from 'tap';
import { assistantBody } from '../../src/cli/assistant-body.ts';

t.test('a new assistant has a name and, unless told otherwise, the embedded model', async (t) => {
  t.strictSame(assistantBody({ name: 'a' }, 'create'), { name: 'a', model: { provider: 'scripted', name: 'scripted' } });
  t.strictSame(assistantBody({ name: 'a', provider: 'openai', model: 'm', credential: 'crd_1', temperature: 0 }, 'create').model, { provider: 'openai', name: 'm', credential_id: 'crd_1', temperature: 0 });
  t.throws(() => assistantBody({}, 'create'), { message: 'Name the assistant, as in `parley assistants create NAME`.' });
  t.throws(() => assistantBody({ name: 'a', provider: 'openai' }, 'create'), { message: 'Name the model of openai with --model.' });
});

t.test('an update holds only what was named', async (t) => {
  t.strictSame(assistantBody({}, 'update'), {});
  t.strictSame(assistantBody({ greeting: 'Hi', voice: false, link: true }, 'update'), { greeting: 'Hi', channels: { voice: false, link: true } });
  t.strictSame(assistantBody({ systemPrompt: 'Be kind.', outputTokensMax: 5 }, 'update'), { model: { system_prompt: 'Be kind.', output_tokens_max: 5 } });
  t.strictSame(assistantBody({ visitorField: ['email:email:required'], maxCallSeconds: 60 }, 'update'), {
    max_call_seconds: 60,
    visitor_fields: [{ name: 'email', type: 'email', required: true, label: 'email' }],
  });
});

t.test('files: flags win over them, and a bad one is refused in a line', async (t) => {
  const folder = t.testdir({
    'prompt.txt': 'Be kind.\n',
    'assistant.json': JSON.stringify({ name: 'file', voice: { provider: 'embedded' }, channels: { voice: true, link: false }, model: { provider: 'openai', name: 'm' } }),
    'list.json': '[]',
    'broken.json': '{',
  });
  const file = (name: string) => join(folder, name);
  t.strictSame(assistantBody({ name: 'flag', link: true, model: 'n', from: file('assistant.json') }, 'create'), {
    name: 'flag',
    voice: { provider: 'embedded' },
    channels: { voice: true, link: true },
    model: { provider: 'openai', name: 'n' },
  });
  t.strictSame(assistantBody({ systemPromptFile: file('prompt.txt') }, 'update'), { model: { system_prompt: 'Be kind.\n' } });
  t.throws(() => assistantBody({ systemPromptFile: file('none') }, 'update'), { message: /cannot be read \(ENOENT\)\.$/ });
  t.throws(() => assistantBody({ systemPromptFile: file('prompt.txt'), systemPrompt: 'x' }, 'update'), { message: /not both/ });
  t.throws(() => assistantBody({ from: file('broken.json') }, 'update'), { message: /is not valid JSON\.$/ });
  t.throws(() => assistantBody({ from: file('list.json') }, 'update'), { message: /must hold a JSON object\.$/ });
});
