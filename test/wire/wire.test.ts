/** A body held to its schema: pruned, and refused for its first fault. */
import t from 'tap';
import type { TSchema } from 'typebox';
import {
  ChatBody,
  ChatCompletionBody,
  CreateAssistantBody,
  CreateCredentialBody,
  CreateKeyBody,
  CreateSessionBody,
  CreateTestBody,
  CreateToolBody,
  CreateWorkspaceBody,
  PatchAssistantBody,
  ResponseBody,
  shape,
} from '../../src/wire/wire.ts';
import { overfull, pruned } from '../../src/wire/check.ts';
import { limits } from '../../src/base/limits.ts';

const text = { type: 'string' };
const schema = {
  type: 'object',
  properties: {
    name: text,
    cleared: { anyOf: [text, { type: 'null' }] },
    inner: { type: 'object', properties: { a: text, b: text } },
    list: { type: 'array', items: { type: 'object', properties: { a: text } } },
  },
};

t.test(
  'null is left out where the schema has no use for it, and so is every field that it does not name',
  async (t) => {
    t.same(pruned({ other: 1, name: 'n', cleared: null, inner: { a: null, b: 'b', c: 1 } }, schema), {
      name: 'n',
      cleared: null,
      inner: { b: 'b' },
    });
    t.same(
      Object.keys(pruned({ list: [], none: null, name: 'n', cleared: 'c' }, schema) as object),
      ['list', 'name', 'cleared'],
      'in their order',
    );
    t.same(pruned({ list: [{ a: 'a', b: 1 }, 'text', { a: null }] }, schema), { list: [{ a: 'a' }, 'text', {}] });
    t.same(pruned({ a: 'a', b: null }, { type: 'object', additionalProperties: text }), { a: 'a' });
    t.same(pruned(JSON.parse('{"__proto__":{"name":"n"},"name":null}'), schema), {});
    t.same(pruned([{ name: null }], schema), [{ name: null }]);
  },
);

t.test('a clean value is returned as it is', async (t) => {
  const sent = { name: 'n', cleared: null, inner: { a: 'a' } };
  t.equal(pruned(sent, schema), sent);
  const changed = { name: null, inner: { a: 'a' } };
  t.equal((pruned(changed, schema) as typeof changed).inner, changed.inner);
});

t.test('a list or a map with too many items is refused unread', async (t) => {
  let reads = 0;
  const item = () => Object.defineProperty({}, 'role', { enumerable: true, get: () => (reads++, 'user') });
  const messages = Array.from({ length: limits.frontMessagesMax + 1 }, item);
  const input = messages.map(() => ({}));
  t.equal(pruned({ messages }, ChatCompletionBody as object), overfull);
  const refused: readonly (readonly [
    name: string,
    schema: Parameters<typeof shape>[0],
    body: object,
    field: string,
  ])[] = [
    ['messages', ChatCompletionBody, { model: 'm', messages }, 'messages'],
    ['messages beside a field of a wrong type', ChatCompletionBody, { model: 'm', messages, n: 'x' }, 'messages'],
    ['items', ResponseBody, { model: 'm', input }, 'input'],
    [
      'calls of a message',
      ChatCompletionBody,
      { model: 'm', messages: [{ role: 'assistant', tool_calls: messages }] },
      'messages.0.tool_calls',
    ],
    [
      'metadata',
      CreateSessionBody,
      { assistant_id: 'a', metadata: Object.fromEntries(messages.map((_, index) => [index, item()])) },
      'metadata',
    ],
    ['results', ChatBody, { tool_results: messages }, 'tool_results'],
    ['origins', PatchAssistantBody, { link: { origins: messages } }, 'link.origins'],
  ];
  for (const [name, schema, body, field] of refused)
    t.throws(
      () => shape(schema).parse(body),
      { message: `The field \`${field}\` has the wrong type or a value that is not allowed.` },
      name,
    );
  t.equal(reads, 0);
});

t.test('the first fault is named: what is missing, then each field in the order of the schema', async (t) => {
  const field = (schema: Parameters<typeof shape>[0], body: unknown): string => {
    try {
      shape(schema).parse(body);
      return '';
    } catch (error) {
      return (error as { message: string }).message.match(/`(.*)`/)?.[1] ?? (error as Error).message;
    }
  };
  const chat = (messages: unknown, more: object = {}): string =>
    field(ChatCompletionBody, { model: 'm', messages, ...more });
  t.equal(chat([{ role: 'user' }]), '');
  t.equal(chat([{ role: 'user' }, {}]), 'messages.1.role');
  t.equal(
    chat([{ role: 'user' }, { role: 'assistant', tool_calls: [{ id: 'a', function: { arguments: '{}' } }] }]),
    'messages.1.tool_calls.0.function.name',
  );
  t.equal(chat([{ role: 'user' }, { role: 5 }], { n: 2 }), 'messages.1.role');
  t.equal(chat([{ role: 'user' }], { n: 2 }), 'n');
  t.equal(chat([], { n: 2 }), 'messages');
  t.equal(chat('text', { n: 2 }), 'messages');
  t.equal(field(ChatCompletionBody, { n: 2 }), 'model');
  t.equal(field(ChatCompletionBody, { model: null, messages: [] }), 'model', 'null is absent');
  t.equal(field(ChatCompletionBody, [1]), 'The body must be a JSON object.');
  t.equal(field(CreateSessionBody, { assistant_id: 'a', visitor: { a: 'b', c: {} } }), 'visitor.c');
  t.equal(field(CreateSessionBody, { assistant_id: 'a', metadata: { a: '\ud800' } }), 'metadata.a');
  t.equal(field(CreateSessionBody, { assistant_id: 'a', metadata: { '\ud800': 'a' } }), 'metadata');
  t.equal(
    field(CreateSessionBody, { assistant_id: 'a', metadata: { ['n'.repeat(65)]: 'a' } }),
    `metadata.${'n'.repeat(65)}`,
  );
  t.equal(field(PatchAssistantBody, { voice: { provider: 5 } }), 'voice.provider');
  t.equal(field(PatchAssistantBody, { voice: 5 }), 'voice');
  t.equal(
    field(PatchAssistantBody, { voice: null, link: { origins: ['https://a.example', 'nothing'] } }),
    'link.origins',
  );
  t.equal(field(ResponseBody, { model: 'm', input: [{ type: 'nothing' }] }), 'input.0.type');
  t.equal(field(ResponseBody, { model: 'm', input: 'a', conversation: { id: 5 } }), 'conversation');
});

t.test('names of records are one line with something to see', async (t) => {
  const bodies = {
    workspace: [CreateWorkspaceBody, {}],
    assistant: [CreateAssistantBody, {}],
    key: [CreateKeyBody, {}],
    credential: [CreateCredentialBody, { kind: 'model', provider: 'openai', api_key: 'secret' }],
    tool: [CreateToolBody, { kind: 'client' }],
    test: [CreateTestBody, { steps: [{ message: 'Hi' }] }],
  } as const;
  for (const [record, [schema, body]] of Object.entries(bodies)) {
    const named = (name: string) => () => shape<TSchema>(schema).parse({ ...body, name });
    t.doesNotThrow(named('Ada, 東京 ✓'), record);
    for (const name of ['two\nlines', 'a\u2028b', 'bell\u0007', '\u202egnorw', ' '])
      t.throws(named(name), { code: 'invalid_request', param: 'name' }, `${record} ${encodeURIComponent(name)}`);
  }
});
