/** `parley-client/ai`: the transport as the AI SDK calls it, and under the SDK itself. */
import t from 'tap';
import { parleyTransport, type ReplyChunk } from '../../src/client/ai.ts';
import { activeTurn, sessionOf, synthetic, transcriptOf, until } from '../api/talk.ts';
import { openScene } from './scene.ts';

const scene = await openScene(t, 'tokens=20');
const { house, assistantId } = scene;
const said = (text: string) => ({ id: '1', role: 'user' as const, parts: [{ type: 'text' as const, text }] });

async function all(stream: ReadableStream<ReplyChunk>): Promise<ReplyChunk[]> {
  const chunks: ReplyChunk[] = [];
  for await (const chunk of stream as unknown as AsyncIterable<ReplyChunk>) chunks.push(chunk);
  return chunks;
}
const textOf = (chunks: readonly ReplyChunk[]): string =>
  chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('');

t.test('a reply in the chunks of the SDK', async (t) => {
  const { id } = await house.session(assistantId);
  const transport = parleyTransport(scene.client().parley, { sessionId: id });
  const chunks = await all(await transport.sendMessages({ messages: [said('Hello')] }));
  const [user, assistant] = await transcriptOf(house, id);
  t.match([user.content, assistant.content], ['Hello', textOf(chunks)]);
  t.match(chunks[0], { type: 'start', messageId: assistant.id });
  t.same(
    [...new Set(chunks.map(({ type }) => type))],
    ['start', 'start-step', 'text-start', 'text-delta', 'text-end', 'finish-step', 'finish'],
  );
  t.equal(await transport.reconnectToStream(), null, 'no reply is under way');
});

t.test(
  'stop aborts the turn, before its first output too; a reader that leaves does not; a reconnection goes on',
  async (t) => {
    const slow = await synthetic(house, 'tokens=100000,delay_ms=5');
    const { id } = await house.session(slow.id);
    const transport = parleyTransport(scene.client().parley, { sessionId: id });
    const stream = await transport.sendMessages({ messages: [said('Hello')] });
    const reader = stream.getReader();
    for (let chunks = 0; chunks < 5; chunks++) await reader.read();
    await reader.cancel();
    t.not((await sessionOf(house, id)).active_turn_id, null);
    const stopping = new AbortController();
    const again = (await transport.reconnectToStream({ abortSignal: stopping.signal }))!;
    setImmediate(() => stopping.abort());
    const chunks = await all(again);
    t.equal(chunks.at(-1)!.type, 'abort');
    t.match((await transcriptOf(house, id)).at(-1), { content: textOf(chunks), stop_reason: 'aborted' });

    const silent = await synthetic(house, 'tokens=4,first_ms=20000');
    const waiting = await house.session(silent.id);
    const early = new AbortController();
    const call = t.rejects(
      parleyTransport(scene.client().parley, { sessionId: waiting.id }).sendMessages({
        messages: [said('Hello')],
        abortSignal: early.signal,
      }),
      { message: 'enough' },
    );
    await activeTurn(house, waiting.id);
    early.abort(new Error('enough'));
    await call;
    await until(async () => (await sessionOf(house, waiting.id)).active_turn_id === null);
  },
);

t.test('a failure is a chunk within the stream, and thrown before it', async (t) => {
  const failing = await synthetic(house, 'tokens=10,fail_at=4');
  const { id } = await house.session(failing.id);
  const transport = parleyTransport(scene.client().parley, { sessionId: id });
  t.match((await all(await transport.sendMessages({ messages: [said('Hello')] }))).at(-1), {
    type: 'error',
    errorText: 'The assistant cannot answer at the moment.',
  });
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  await t.rejects(transport.sendMessages({ messages: [said('Hello')] }), { code: 'session_ended' });
});

t.test('calls that would send a message a second time are refused before anything is sent', async (t) => {
  const { id } = await house.session(assistantId);
  const transport = parleyTransport(scene.client().parley, { sessionId: id });
  await all(
    await transport.sendMessages({ messages: [said('Hello')], trigger: 'submit-message', messageId: undefined }),
  );
  const before = await transcriptOf(house, id);
  const reply = { id: '2', role: 'assistant' as const, parts: [{ type: 'text' as const, text: 'Hello' }] };
  const refused = { message: /A session keeps what was said/ };
  await t.rejects(transport.sendMessages({ messages: [said('Hello')], trigger: 'regenerate-message' }), refused);
  await t.rejects(
    transport.sendMessages({ messages: [said('Hello')], trigger: 'regenerate-message', messageId: '2' }),
    refused,
  );
  await t.rejects(
    transport.sendMessages({ messages: [said('Hello again')], trigger: 'submit-message', messageId: '1' }),
    refused,
    'a message that replaces another',
  );
  await t.rejects(
    transport.sendMessages({ messages: [said('Hello'), reply], trigger: 'submit-message' }),
    refused,
    'a reply is not said to the assistant',
  );
  await t.rejects(transport.sendMessages({ messages: [] }), refused);
  t.same(await transcriptOf(house, id), before);
});

t.test('a chat of the AI SDK', async (t) => {
  const { AbstractChat } = (await import('ai')) as any;
  /** The state that each framework's own package keeps in its way. */
  const open = (sessionId: string) => {
    const state = {
      status: 'ready',
      error: undefined,
      messages: [] as any[],
      pushMessage: (message: any) => void state.messages.push(message),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (index: number, message: any) => void (state.messages[index] = message),
      snapshot: (value: any) => structuredClone(value),
    };
    class Chat extends AbstractChat {}
    return {
      chat: new (Chat as any)({ state, transport: parleyTransport(scene.client().parley, { sessionId }) }),
      state,
    };
  };
  const { id } = await house.session(assistantId);
  const { chat, state } = open(id);
  await chat.sendMessage({ text: 'Hello' });
  const stored = (await transcriptOf(house, id)).at(-1);
  t.equal(state.status, 'ready');
  t.match(state.messages.at(-1), {
    id: stored.id,
    role: 'assistant',
    parts: [{ type: 'step-start' }, { type: 'text', text: stored.content, state: 'done' }],
  });

  await chat.regenerate();
  t.match([state.status, state.error], ['error', { message: /A session keeps what was said/ }]);
  await chat.sendMessage({ text: 'Goodbye', messageId: state.messages[0].id });
  t.match(state.error, { message: /A session keeps what was said/ });
  t.equal((await transcriptOf(house, id)).length, 2, 'nothing was said a second time');
  t.match(state.messages, [{ parts: [{ text: 'Goodbye' }] }], 'but the SDK has taken the reply out of its list');
  const kept = await scene.client().parley.sessions.transcript(id).all();
  chat.messages = kept.map(({ id, role, content }) => ({ id, role, parts: [{ type: 'text', text: content }] }));
  await chat.sendMessage({ text: 'Hello again' });
  t.match(
    [state.status, state.messages.map(({ role }) => role)],
    ['ready', ['user', 'assistant', 'user', 'assistant']],
    'with the transcript the chat goes on',
  );

  const slow = await synthetic(house, 'tokens=100000,delay_ms=5');
  const session = await house.session(slow.id);
  const first = open(session.id);
  const sending = first.chat.sendMessage({ text: 'Hello' });
  await until(async () => first.state.messages.at(-1)?.role === 'assistant');
  const second = open(session.id);
  const resuming = second.chat.resumeStream();
  await until(async () => second.state.messages.at(-1)?.role === 'assistant');
  await first.chat.stop();
  await Promise.all([sending, resuming]);
  await until(async () => (await sessionOf(house, session.id)).active_turn_id === null);
  t.match((await transcriptOf(house, session.id)).at(-1), { stop_reason: 'aborted' });
});
