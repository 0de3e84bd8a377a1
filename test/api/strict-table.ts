/** The outcome of a conversation at each strict provider: a row for each provider, a column for each case (R4). */
import type { Owner } from '../folders.ts';
import { strictProvider, type StrictProvider } from '../providers/strict/provider.ts';
import type { StrictName } from '../providers/strict/modes.ts';
import { countingTool, type CountingTool } from './counting-tool.ts';
import { must, type House } from './house.ts';
import { credentialOf, inTrials } from './talk.ts';

/** A conversation with an assistant whose model is at a strict provider. */
interface Talk {
  readonly house: House;
  readonly provider: StrictProvider;
  readonly tool: CountingTool;
  readonly sessionId: string;
}

/** Names that our rule allows, and some providers do not. */
const oddNames = ['3d_print', '_look', '-look', '9'.repeat(64)];

const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

/** Sends a chat; throws unless its turn ends in this way. */
async function chat({ house, provider, sessionId }: Talk, body: object, ending = 'turn.completed'): Promise<void> {
  const { status, text } = await house.ask(`/sessions/${sessionId}/chat`, { key: house.key, body });
  const last = [...text.matchAll(/^event: (.+)$/gm)].at(-1)?.[1];
  if (status !== 200 || last !== ending)
    throw new Error(
      `${JSON.stringify(body)} is answered ${status} ${last ?? text}; the provider refused: ${provider.refused.at(-1) ?? 'nothing'}`,
    );
}

const say = (talk: Talk, message: string): Promise<void> => chat(talk, { message });

/** Throws unless the tool was reached so often more. */
async function reaching({ tool }: Talk, count: number, act: () => Promise<void>): Promise<void> {
  const before = tool.reached.length;
  await act();
  if (tool.reached.length !== before + count)
    throw new Error(`the tool was reached ${tool.reached.length - before} times, not ${count}`);
}

async function answer(talk: Talk, each: (callId: string) => object): Promise<void> {
  const { pending_tool_calls: pending } = (await talk.house.ask(`/sessions/${talk.sessionId}`, { key: talk.house.key }))
    .json;
  await chat(talk, { tool_results: pending.map(({ call_id: callId }: any) => each(callId)) });
}

const hasResult = ({ messages }: any): boolean =>
  messages.at(-1).role === 'tool' ||
  (Array.isArray(messages.at(-1).content) && messages.at(-1).content.some(({ type }: any) => type === 'tool_result'));

/** Each is followed by one more turn of text. */
const cases: Readonly<Record<string, (talk: Talk) => Promise<void>>> = {
  text: (talk) => say(talk, 'plain'),
  'one call': (talk) => reaching(talk, 1, () => say(talk, 'call look_up 1 times')),
  'parallel calls': (talk) => reaching(talk, 3, () => say(talk, 'call look_up 3 times')),
  'no arguments': (talk) => reaching(talk, 1, () => say(talk, 'call ping 1 times')),
  'odd names': async (talk) => {
    for (const name of oddNames) {
      await reaching(talk, 2, () => say(talk, `call ${name} 2 times`));
      const { name: reached } = talk.tool.reached.at(-1)!.body.data;
      if (reached !== name) throw new Error(`the tool was told of ${reached}, not of ${name}`);
    }
  },
  'empty output': (talk) => reaching(talk, 1, () => say(talk, 'call erase 1 times')),
  approval: async (talk) => {
    await say(talk, 'call book 2 times');
    await reaching(talk, 2, () => answer(talk, (call_id) => ({ call_id, approved: true })));
  },
  'client tool': async (talk) => {
    await say(talk, 'call pick 1 times');
    await answer(talk, (call_id) => ({ call_id, output: '' }));
  },
  'cut after results': async (talk) => {
    talk.provider.cutAfter = (body) => (hasResult(body) ? 0 : null);
    await chat(talk, { message: 'call look_up 2 times' }, 'error').finally(() => (talk.provider.cutAfter = () => null));
  },
  'next turn': async (talk) => {
    await say(talk, 'call look_up 1 times');
    await say(talk, 'call look_up 2 times');
  },
  'ten turns on': async (talk) => {
    await say(talk, 'call look_up 2 times');
    for (let turn = 0; turn < 10; turn++) await say(talk, turn % 3 === 1 ? 'call look_up 1 times' : 'plain');
  },
};
export const caseNames = Object.keys(cases);

/**
 * The outcome of each case, in their order: null for a good one, else why it is not. `isSilent`: the provider refuses
 * without a reason.
 */
export async function rowOf(
  t: Owner,
  house: House,
  name: StrictName,
  { isSilent = false } = {},
): Promise<{ outcomes: (string | null)[]; refused: number }> {
  const provider = await strictProvider(t, name, { isSilent });
  const functions = [
    { name: 'look_up', description: 'Looks an order up.', parameters: order },
    { name: 'ping', parameters: { type: 'object' } },
    { name: 'erase' },
    ...oddNames.map((name) => ({ name, parameters: order })),
    { name: 'book', parameters: order, approval: 'always' },
  ];
  const tool = await countingTool(t, house, { functions });
  tool.answer = (response, { body }) =>
    body.data.name === 'erase'
      ? response.writeHead(204).end()
      : response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}');
  const client = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: { kind: 'client', name: 'Mine', functions: [{ name: 'pick', parameters: order }] },
  });
  const credential = await credentialOf(house, provider.kind, provider.baseUrl);
  const model = {
    provider: provider.kind,
    name: 'any',
    credential_id: credential.id,
    temperature: 0.7,
    output_tokens_max: 500,
    system_prompt: 'Be kind.',
  };
  const outcomes: (string | null)[] = [];
  for (const greeting of [null, 'Welcome.']) {
    const assistant = await house.assistant({ model, tool_ids: [tool.id, client.json.id], greeting });
    for (const [index, run] of Object.values(cases).entries()) {
      const talk = { house, provider, tool, sessionId: (await house.session(assistant.id)).id };
      const outcome = await run(talk)
        .then(() => say(talk, 'plain'))
        .then(
          () => null,
          (error: unknown) => String(error),
        );
      outcomes[index] ??= outcome;
    }
  }
  return { outcomes, refused: provider.refused.length };
}

/** Has a session go from each provider to the next, with calls at each; the outcomes as in a row. */
export async function tourOf(t: Owner, opened: House, names: readonly StrictName[]): Promise<(string | null)[]> {
  // A trial gets each change of the draft at its next turn.
  const house = inTrials(opened);
  const tool = await countingTool(t, house, { functions: [{ name: 'look_up', parameters: order }] });
  const assistant = await house.assistant({ tool_ids: [tool.id] });
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}`;
  const { id: sessionId } = await house.session(assistant.id);
  const outcomes: (string | null)[] = [];
  for (const name of names) {
    const provider = await strictProvider(t, name);
    const credential = await credentialOf(house, provider.kind, provider.baseUrl);
    await must(
      () =>
        house.console(path, {
          method: 'PATCH',
          body: { model: { provider: provider.kind, name: 'any', credential_id: credential.id } },
        }),
      200,
    );
    const talk = { house, provider, tool, sessionId };
    outcomes.push(
      await say(talk, 'call look_up 2 times')
        .then(() => say(talk, 'plain'))
        .then(() => (provider.requests.length > 0 ? null : 'it was not asked'), String),
    );
  }
  return outcomes;
}

/**
 * Has a caller of OpenAI's API resend its own calls in each request, so that no field of the provider's comes back with
 * them; null for a good outcome, else why it is not.
 */
export async function resendingAt(
  t: Owner,
  house: House,
  name: StrictName,
  { isSilent = false } = {},
): Promise<string | null> {
  const provider = await strictProvider(t, name, { isSilent });
  const credential = await credentialOf(house, provider.kind, provider.baseUrl);
  const { id: model } = await house.assistant({
    model: { provider: provider.kind, name: 'any', credential_id: credential.id },
  });
  const tools = ['look_up', ...oddNames].map((one) => ({
    type: 'function',
    function: { name: one, parameters: order },
  }));
  const messages: any[] = [];
  for (const text of [
    'call look_up 1 times',
    'plain',
    'call look_up 2 times',
    `call ${oddNames[0]} 2 times`,
    'plain',
  ]) {
    messages.push({ role: 'user', content: text });
    for (let isOver = false; !isOver;) {
      const { status, json } = await house.ask('/v1/chat/completions', { body: { model, messages, tools } });
      if (status !== 200)
        return `${text} is answered ${status}; the provider refused: ${provider.refused.at(-1) ?? 'nothing'}`;
      const { message } = json.choices[0];
      const calls: any[] = message.tool_calls ?? [];
      if (calls.some((call) => !text.includes(call.function.name))) return `${text} calls ${calls[0].function.name}`;
      messages.push(message, ...calls.map((call) => ({ role: 'tool', tool_call_id: call.id, content: '' })));
      isOver = calls.length === 0;
    }
  }
  return null;
}
