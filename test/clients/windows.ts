/**
 * Chat windows, as their public source of 2026-11 has them: what they send is written out here, since they need
 * databases or Python to run. open-webui/open-webui `backend/open_webui/routers/openai.py` and `routers/tasks.py`,
 * `src/lib/components/chat/Chat.svelte`; danny-avila/LibreChat `packages/api/src/endpoints/openai/`;
 * huggingface/chat-ui `src/lib/server/endpoints/openai/endpointOai.ts`.
 */
import type { Test } from 'tap';
import { unless } from '../providers/model/strict.ts';
import type { Answer, House } from '../api/house.ts';
import { onProvider } from '../api/talk.ts';

interface Sent {
  readonly headers?: Record<string, string>;
  readonly body: Record<string, unknown>;
  /** Roles and texts that the model is sent. */
  readonly reaches: readonly [string, string][];
}

/** A chat whose history has an answer, as each of them keeps it. */
const history = [
  { role: 'user', content: 'one' },
  { role: 'assistant', content: 'two' },
];
const historyReaches: [string, string][] = [
  ['user', 'one'],
  ['assistant', 'two'],
  ['user', 'three'],
];

const windows: Readonly<Record<string, Sent>> = {
  // The chat: the window's settings are flattened into the body, and usage is always asked for. An adapter may mark the
  // last part for a cache.
  'Open WebUI, a chat': {
    headers: {
      'X-OpenWebUI-User-Name': 'Ada%20L',
      'X-OpenWebUI-User-Id': '5d2c',
      'X-OpenWebUI-User-Email': 'ada@example.com',
      'X-OpenWebUI-User-Role': 'user',
      'X-OpenWebUI-Chat-Id': '1c9e',
    },
    body: {
      ...{
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.7,
        top_p: 0.9,
        seed: 3,
        stop: ['###'],
        logit_bias: { 50256: -100 },
        reasoning_effort: 'low',
        frequency_penalty: 0,
        max_tokens: 512,
      },
      messages: [
        { role: 'system', content: 'Be brief.' },
        ...history,
        { role: 'user', content: [{ type: 'text', text: 'three', cache_control: { type: 'ephemeral' } }] },
      ],
    },
    reaches: [['system', 'Be brief.'], ...historyReaches],
  },
  // `routers/tasks.py`: titles, tags and follow-ups are separate requests without streaming.
  'Open WebUI, a title': {
    headers: { 'X-OpenWebUI-Chat-Id': '1c9e' },
    body: {
      stream: false,
      max_completion_tokens: 1000,
      messages: [{ role: 'user', content: '### Task:\nGenerate a concise, 3-5 word title.' }],
    },
    reaches: [['user', '### Task:\nGenerate a concise, 3-5 word title.']],
  },
  // `endpointOai.ts`: there is always a system message, which may be empty, and absent settings are left out of the
  // JSON.
  'chat-ui, a chat': {
    headers: { 'ChatUI-Conversation-ID': '66f0', 'X-use-cache': 'false' },
    body: {
      stream: true,
      max_tokens: 1024,
      stop: ['<|end|>'],
      temperature: 0.6,
      top_p: 0.95,
      frequency_penalty: 1.2,
      messages: [{ role: 'system', content: '' }, ...history, { role: 'user', content: 'three' }],
    },
    reaches: historyReaches,
  },
  // `endpoints/openai/llm.ts` makes the settings of `@langchain/openai`, which sends this. `user` is the person, and
  // parts are texts.
  'LibreChat, a chat': {
    body: {
      ...{
        stream: true,
        stream_options: { include_usage: true },
        user: '66a1',
        temperature: 1,
        top_p: 1,
        presence_penalty: 0,
        frequency_penalty: 0,
        max_completion_tokens: 2048,
      },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'one' },
        { role: 'assistant', content: [{ type: 'text', text: 'two' }] },
        { role: 'user', content: 'three', name: 'Ada' },
      ],
    },
    reaches: [['system', 'Be brief.'], ...historyReaches],
  },
  'LibreChat, a title': {
    body: {
      stream: false,
      temperature: 0.2,
      presence_penalty: 0,
      frequency_penalty: 0,
      max_tokens: 75,
      messages: [{ role: 'user', content: 'Provide a concise, 5-word-or-less title for the conversation.' }],
    },
    reaches: [['user', 'Provide a concise, 5-word-or-less title for the conversation.']],
  },
  // Clients in Python send the last answer back as their library wrote it down, nulls included.
  'openai-python, an answer sent back': {
    body: {
      ...{
        stream: null,
        n: null,
        tools: null,
        tool_choice: null,
        max_tokens: null,
        response_format: null,
        stream_options: null,
        logprobs: null,
      },
      messages: [
        { role: 'user', content: 'one' },
        {
          role: 'assistant',
          content: 'two',
          refusal: null,
          annotations: [],
          audio: null,
          function_call: null,
          tool_calls: null,
        },
        { role: 'user', content: 'three' },
      ],
    },
    reaches: historyReaches,
  },
};

/**
 * Windows that send more than a question and a history of texts: what each of them sends in a conversation that has
 * gone on.
 */
const longer: Readonly<Record<string, Sent>> = {
  // `utils/middleware.py`: passages of documents stand in the question, and pictures of earlier questions are sent
  // again.
  'Open WebUI, documents and an old picture': {
    body: {
      stream: true,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          ],
        },
        { role: 'assistant', content: 'two' },
        { role: 'user', content: `### Task:\n${'<source id="1">A passage.</source>\n'.repeat(1000)}three` },
      ],
    },
    reaches: [
      ['user', 'one\n[image]'],
      ['assistant', 'two'],
      ['user', `### Task:\n${'<source id="1">A passage.</source>\n'.repeat(1000)}three`],
    ],
  },
  // BerriAI/litellm: an answer is sent back as its `Message` writes itself down; BerriAI/litellm#25595 has the field of
  // providers.
  'LiteLLM, a call sent back': {
    headers: { 'x-litellm-tags': 'a' },
    body: {
      ...{ user: 'default_user_id', extra_body: {}, stream: false, max_tokens: -1, metadata: { requester: 'proxy' } },
      messages: [
        { role: 'user', content: 'one' },
        {
          ...{
            role: 'assistant',
            content: null,
            function_call: null,
            provider_specific_fields: { refusal: null },
            thinking_blocks: null,
            reasoning_content: 'hm',
          },
          tool_calls: [
            {
              index: 0,
              id: 'call_1',
              type: 'function',
              function: { name: 'look', arguments: '{}' },
              provider_specific_fields: { thought_signature: 'x' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', name: 'look', content: 'seen' },
        { role: 'assistant', content: 'two', annotations: [], images: [], function_call: null, tool_calls: null },
        { role: 'user', content: 'three' },
      ],
    },
    reaches: [
      ['user', 'one'],
      ['assistant', null as unknown as string],
      ['tool', 'seen'],
      ['assistant', 'two'],
      ['user', 'three'],
    ],
  },
  // Aider-AI/aider `aider/coders/base_coder.py`, `chat_chunks.py`: files stand in messages of the user, and a reminder
  // may come last.
  'aider, files and a reminder': {
    body: {
      ...{ stream: true, temperature: 0 },
      messages: [
        { role: 'system', content: 'Act as a developer.' },
        { role: 'user', content: `I have *added these files to the chat*.\n${'x = 1\n'.repeat(5000)}` },
        { role: 'assistant', content: 'Ok.' },
        { role: 'user', content: 'three' },
        { role: 'system', content: '# *SEARCH/REPLACE block* rules:' },
      ],
    },
    reaches: [
      ...([
        ['system', 'Act as a developer.\n\n# *SEARCH/REPLACE block* rules:'],
        ['user', `I have *added these files to the chat*.\n${'x = 1\n'.repeat(5000)}`],
      ] as [string, string][]),
      ...([
        ['assistant', 'Ok.'],
        ['user', 'three'],
      ] as [string, string][]),
    ],
  },
  // cline/cline `src/core/api/providers/openai.ts`: a question of several parts, with all of its surroundings.
  'Cline, a task with its surroundings': {
    body: {
      ...{ stream: true, stream_options: { include_usage: true }, temperature: 0, max_tokens: -1 },
      messages: [
        { role: 'system', content: 'You are Cline.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: '<task>\nthree\n</task>' },
            { type: 'text', text: `<environment_details>\n${'src/a.ts\n'.repeat(2000)}</environment_details>` },
          ],
        },
      ],
    },
    reaches: [
      ['system', 'You are Cline.'],
      ['user', `<task>\nthree\n</task><environment_details>\n${'src/a.ts\n'.repeat(2000)}</environment_details>`],
    ],
  },
};

/** The text as these windows put it together, from the lines that begin with `data: `. */
function shown({ text, json }: Answer): { text: string; finish: string | null; usage: any } {
  if (json !== undefined)
    return { text: json.choices[0].message.content, finish: json.choices[0].finish_reason, usage: json.usage };
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => line.slice('data: '.length));
  if (lines.pop() !== '[DONE]') throw new Error(`no [DONE]: ${text}`);
  const chunks = lines.map((line) => JSON.parse(line));
  const choices = chunks.flatMap((chunk) => chunk.choices);
  return {
    text: choices.map(({ delta }) => delta.content ?? '').join(''),
    finish: choices.at(-1).finish_reason,
    usage: chunks.at(-1).usage ?? null,
  };
}

export async function chatWindows(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(), {
    alias: 'windows',
    model: { history_tokens_max: 50_000 },
  });
  for (const [window, { headers = {}, body, reaches }] of Object.entries({ ...windows, ...longer })) {
    const answer = await house.ask('/v1/chat/completions', { headers, body: { model: 'windows', ...body } });
    t.equal(answer.status, 200, window);
    const { text, finish, usage } = shown(answer);
    t.same([text, finish], ['ok', 'stop'], window);
    t.equal(usage !== null, body['stream'] !== true || 'stream_options' in body, `${window}: usage`);
    t.same(
      provider.requests.at(-1)!.body.messages.map(({ role, content }: any) => [role, content]),
      reaches,
      window,
    );
  }
  const listed = await house.ask('/v1/models');
  // Open WebUI's list has `id` and `name` of each; the other two take `id`.
  t.match(
    listed.json.data.find(({ id }: any) => id === 'windows'),
    { id: 'windows', name: assistant.name },
  );
  const pictured = {
    role: 'user',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    ],
  };
  const refused = await house.ask('/v1/chat/completions', {
    body: { model: 'windows', messages: [pictured], stream: true },
  });
  const sentence =
    'The part `messages[0].content[1]` is not taken: the last message is read as text, without pictures and files.';
  t.same([refused.status, refused.json.error.message], [400, sentence], 'the windows show the sentence of an error');
}
