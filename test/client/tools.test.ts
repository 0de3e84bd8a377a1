/**
 * Calls of tools as the client has them (contract 13): asked for and answered in a conversation, and under the AI SDK.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { parleyTransport, type ReplyChunk } from '../../src/client/ai.ts';
import { conversation } from '../../src/client/conversation.ts';
import type { TurnEvent } from '../../src/client/types.ts';
import { synthetic, transcriptOf } from '../api/talk.ts';
import { openScene } from './scene.ts';

const scene = await openScene(t, 'tokens=1', { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
const { house } = scene;
const shipments = createServer((_, response) => response.setHeader('content-type', 'text/plain').end('shipped')).listen(
  0,
  '127.0.0.1',
);
await new Promise((resolve) => shipments.once('listening', resolve));
t.teardown(() => {
  shipments.closeAllConnections();
  shipments.close();
});

const lookUp = {
  name: 'look_up',
  description: 'Looks an order up.',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
};
const ships = { kind: 'http', url: `http://127.0.0.1:${(shipments.address() as AddressInfo).port}/call`, show: 'full' };

/** A session whose assistant has one tool, and calls it once. */
async function sessionWith(tool: object, model = 'call=look_up,tokens=3'): Promise<string> {
  const made = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { name: 'Orders', functions: [lookUp], ...tool },
  });
  if (made.status !== 201) throw new Error(made.text);
  const { id } = await synthetic(house, model, { tool_ids: [made.json.id], greeting: null });
  return (await house.session(id)).id;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

t.test('the events of a call are typed, and results are sent as a message is', async (t) => {
  const { parley } = scene.client();
  const id = await sessionWith(ships);
  const events = await all<TurnEvent>(await parley.sessions.chat(id, 'Hello'));
  const started = events.find((event) => event.type === 'tool.started')!;
  t.same(
    events.filter((event) => event.type === 'tool.ended'),
    [{ ...started, type: 'tool.ended', arguments: undefined, status: 'completed', error: null, output: 'shipped' }].map(
      ({ arguments: _, ...event }) => event,
    ),
  );
  t.match((await parley.sessions.transcript(id).all()).at(-1)!.tool_calls, [
    { id: started.call_id, status: 'completed', arguments: { order: 'word' } },
  ]);

  const own = await sessionWith({ kind: 'client' });
  const end = (await all<TurnEvent>(await parley.sessions.chat(own, 'Hello'))).at(-1)!;
  const { pending_tool_calls: pending } = await parley.sessions.get(own);
  t.match(end, { type: 'turn.completed', stop_reason: 'tool_calls', tool_calls: pending });
  t.match(pending, [{ name: 'look_up', arguments: { order: 'word' }, wants: 'result' }]);
  t.not(await (await parley.sessions.chat(own, [{ call_id: pending[0]!.call_id, output: 'shipped' }])).text(), '');
  t.match(
    (await transcriptOf(house, own)).map(({ role }) => role),
    ['user', 'assistant', 'assistant'],
  );
});

t.test('a conversation has the calls that wait, after a reload too, and is answered', async (t) => {
  const id = await sessionWith({ ...ships, approval: 'always' });
  const talk = conversation(scene.client().parley, id);
  await talk.send('Hello');
  const { pending, messages, status } = talk.getSnapshot();
  t.match(
    [status, pending, messages.at(-1)],
    ['idle', [{ name: 'look_up', wants: 'approval' }], { status: 'completed', stopReason: 'tool_calls' }],
  );
  const reloaded = conversation(scene.client().parley, id);
  await reloaded.answer([{ call_id: 'call_other', approved: true }]);
  t.match(reloaded.getSnapshot(), {
    status: 'idle',
    error: { code: 'invalid_request', field: 'tool_results' },
    pending,
  });
  t.equal(reloaded.getSnapshot().messages.length, messages.length, 'no message is made of an answer');
  await reloaded.answer(pending.map(({ call_id }) => ({ call_id, approved: true })));
  t.match(reloaded.getSnapshot(), { status: 'idle', error: null, pending: [] });
  t.match(reloaded.getSnapshot().messages.at(-1), { role: 'assistant', stopReason: 'end' });
  t.match((await transcriptOf(house, id))[1].tool_calls, [{ status: 'completed', output: 'shipped' }]);

  const declined = await sessionWith({ ...ships, approval: 'always' });
  const other = conversation(scene.client().parley, declined);
  await other.send('Hello');
  await other.send('Never mind');
  t.match((await transcriptOf(house, declined))[1].tool_calls, [{ status: 'declined' }]);
});

t.test('calls are chunks of the SDK, between the texts', async (t) => {
  const transport = async (tool: object, model?: string) =>
    parleyTransport(scene.client().parley, { sessionId: await sessionWith(tool, model) });
  const said = { role: 'user', parts: [{ type: 'text', text: 'Hello' }] };
  const send = async (one: Awaited<ReturnType<typeof transport>>): Promise<ReplyChunk[]> =>
    all<ReplyChunk>(await one.sendMessages({ messages: [said] }));
  const types = (chunks: readonly ReplyChunk[]): string[] => [...new Set(chunks.map(({ type }) => type))];
  const ran = await send(await transport(ships));
  t.same(types(ran), [
    'start',
    'start-step',
    'tool-input-available',
    'tool-output-available',
    'text-start',
    'text-delta',
    'text-end',
    'finish-step',
    'finish',
  ]);
  t.match(ran[2], { toolName: 'look_up', input: { order: 'word' }, dynamic: true, providerExecuted: true });
  t.match(ran[3], { output: 'shipped' });
  const bad = await send(await transport(ships, 'call=look_up,call_bad=1,tokens=1'));
  t.match(
    bad.slice(2, 4),
    [
      { type: 'tool-input-available', input: {} },
      { type: 'tool-output-error', errorText: 'arguments' },
    ],
    'one that was not sent',
  );

  const unanswered = await transport({ kind: 'client' });
  const [call] = (await send(unanswered)).slice(2);
  t.match(call, { type: 'tool-input-available', toolName: 'look_up', providerExecuted: undefined });
  const without = {
    role: 'assistant',
    parts: [
      { type: 'dynamic-tool', toolCallId: (call as { toolCallId: string }).toolCallId, state: 'input-available' },
    ],
  };
  await t.rejects(unanswered.sendMessages({ messages: [said, without] }), { message: /A session keeps what was said/ });
});

t.test('a chat of the AI SDK answers what it is asked, each call once', async (t) => {
  const {
    AbstractChat,
    lastAssistantMessageIsCompleteWithToolCalls,
    lastAssistantMessageIsCompleteWithApprovalResponses,
  } = (await import('ai')) as any;
  const open = (sessionId: string, sendAutomaticallyWhen: unknown) => {
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
    const chat = new (Chat as any)({
      state,
      sendAutomaticallyWhen,
      transport: parleyTransport(scene.client().parley, { sessionId }),
    });
    return { chat, state };
  };
  /** Resolves once the answers have been sent and the reply to them is there. */
  const answered = async (id: string): Promise<any[]> => {
    for (;;) {
      const messages = await transcriptOf(house, id);
      if (messages.length === 3 && messages[2].status === 'completed') return messages;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  const own = await sessionWith({ kind: 'client' });
  const ofResults = open(own, lastAssistantMessageIsCompleteWithToolCalls);
  await ofResults.chat.sendMessage({ text: 'Hello' });
  const [, call] = ofResults.state.messages.at(-1).parts;
  t.match(call, { type: 'dynamic-tool', state: 'input-available', input: { order: 'word' } });
  await ofResults.chat.addToolOutput({ tool: 'look_up', toolCallId: call.toolCallId, output: { shipped: true } });
  const stored = await answered(own);
  t.match(stored[1].tool_calls, [{ status: 'completed' }]);
  while (ofResults.state.status !== 'ready') await new Promise((resolve) => setImmediate(resolve));
  t.match([ofResults.state.error, ofResults.state.messages.length], [undefined, 2], 'the reply is in the same message');
  t.match(ofResults.state.messages.at(-1).parts.at(-1), { type: 'text', text: stored[2].content });

  const id = await sessionWith({ ...ships, approval: 'always' });
  const ofApprovals = open(id, lastAssistantMessageIsCompleteWithApprovalResponses);
  await ofApprovals.chat.sendMessage({ text: 'Hello' });
  const [, asked] = ofApprovals.state.messages.at(-1).parts;
  t.match(asked, { state: 'approval-requested', approval: { id: asked.toolCallId } });
  await ofApprovals.chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
  t.match((await answered(id))[1].tool_calls, [{ status: 'completed', output: 'shipped' }]);
  while (ofApprovals.state.status !== 'ready') await new Promise((resolve) => setImmediate(resolve));
  const parts = ofApprovals.state.messages.at(-1).parts.filter(({ type }: { type: string }) => type === 'dynamic-tool');
  t.match(parts, [{ state: 'output-available', output: 'shipped' }], 'one part for one call');
  t.equal(parts.length, 1);
});
