import { join } from 'node:path';
import { Readable } from 'node:stream';
import t from 'tap';
import { assistantBody as bodyOf, type AssistantOptions } from '../../src/cli/assistant-body.ts';

/** The body, where stdin holds this text; without one nothing may look at stdin. */
const assistantBody = (options: AssistantOptions, purpose: 'create' | 'update', input?: string) =>
  bodyOf(new WithStdin(input), options, purpose);

class WithStdin {
  readonly #input: string | undefined;

  constructor(input: string | undefined) {
    this.#input = input;
  }

  get stdin(): Readable {
    if (this.#input === undefined) throw new Error('stdin is opened');
    return Readable.from([this.#input]);
  }
}

t.test('a new assistant has a name and, unless told otherwise, the embedded model', async (t) => {
  t.strictSame(await assistantBody({ name: 'a' }, 'create'), {
    name: 'a',
    model: { provider: 'scripted', name: 'scripted' },
  });
  t.strictSame(
    (await assistantBody({ name: 'a', provider: 'openai', model: 'm', credential: 'crd_1', temperature: 0 }, 'create'))
      .model,
    { provider: 'openai', name: 'm', credential_id: 'crd_1', temperature: 0 },
  );
  await t.rejects(assistantBody({}, 'create'), {
    message: 'Name the assistant, as in `parley assistants create NAME`.',
  });
  await t.rejects(assistantBody({ name: 'a', provider: 'openai' }, 'create'), {
    message: 'Name the model of openai with --model.',
  });
});

t.test('the voice that speaks', async (t) => {
  t.strictSame((await assistantBody({ name: 'a', voiceId: 'rms' }, 'create')).voice, {
    provider: 'embedded',
    voice: 'rms',
  });
  t.strictSame(await assistantBody({ voiceId: 'rms' }, 'update'), { voice: { voice: 'rms' } }, 'whose it is stays');
  const folder = t.testdir({
    'voice.json': JSON.stringify({ name: 'a', voice: { provider: 'openai', name: 'tts-1' } }),
  });
  t.strictSame((await assistantBody({ voiceId: 'alloy', from: join(folder, 'voice.json') }, 'create')).voice, {
    provider: 'openai',
    name: 'tts-1',
    voice: 'alloy',
  });
});

t.test('an update holds only what was named', async (t) => {
  t.strictSame(await assistantBody({}, 'update'), {});
  t.strictSame(await assistantBody({ greeting: 'Hi', voice: false, link: true }, 'update'), {
    greeting: 'Hi',
    channels: { voice: false, link: true },
  });
  t.strictSame(await assistantBody({ systemPrompt: 'Be kind.', outputTokensMax: 5, reasoning: 'shown' }, 'update'), {
    model: { system_prompt: 'Be kind.', output_tokens_max: 5, reasoning: 'shown' },
  });
  t.strictSame(await assistantBody({ visitorField: ['email:email:required'], maxCallSeconds: 60 }, 'update'), {
    max_call_seconds: 60,
    visitor_fields: [{ name: 'email', type: 'email', required: true, label: 'email' }],
  });
});

t.test('files: flags win over them, and a bad one is refused in a line', async (t) => {
  const folder = t.testdir({
    'prompt.txt': 'Be kind.\n',
    'assistant.json': JSON.stringify({
      name: 'file',
      voice: { provider: 'embedded' },
      channels: { voice: true, link: false },
      model: { provider: 'openai', name: 'm' },
    }),
    'list.json': '[]',
    'broken.json': '{',
  });
  const file = (name: string) => join(folder, name);
  t.strictSame(await assistantBody({ name: 'flag', link: true, model: 'n', from: file('assistant.json') }, 'create'), {
    name: 'flag',
    voice: { provider: 'embedded' },
    channels: { voice: true, link: true },
    model: { provider: 'openai', name: 'n' },
  });
  t.strictSame(await assistantBody({ systemPromptFile: file('prompt.txt') }, 'update'), {
    model: { system_prompt: 'Be kind.\n' },
  });
  t.strictSame(await assistantBody({ systemPromptFile: '-' }, 'update', 'Be brief.\n'), {
    model: { system_prompt: 'Be brief.\n' },
  });
  await t.rejects(assistantBody({ systemPromptFile: file('none') }, 'update'), {
    message: /cannot be read \(ENOENT\)\.$/,
  });
  await t.rejects(assistantBody({ systemPromptFile: file('prompt.txt'), systemPrompt: 'x' }, 'update'), {
    message: /not both/,
  });
  await t.rejects(assistantBody({ from: file('broken.json') }, 'update'), { message: /is not valid JSON\.$/ });
  await t.rejects(assistantBody({ from: file('list.json') }, 'update'), { message: /must hold a JSON object\.$/ });
});
