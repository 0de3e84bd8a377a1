/** Turns with calls of tools, and the ways to cut them (T3 and R4). */
import { MCPMock } from '@copilotkit/aimock';
import type { House } from '../api/house.ts';
import { until } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import type { Trial } from './experiment.ts';
import { sealed } from './ground.ts';
import { Listener } from './listener.ts';
import { openTool, told, type Tool } from './tool-house.ts';

export const kinds = ['http', 'mcp'] as const;
export type Kind = (typeof kinds)[number];
export const callsMax = 4;

/** The tools that a model calls. */
export interface Tools {
  readonly tool: Tool;
  /** Waits before the MCP server answers. */
  readonly mcp: { hold: Promise<void> | null; reached: number };
  readonly toolIds: Readonly<Record<Kind | 'client' | 'asking', string>>;
}

/** A provider whose answers can be cut. */
export interface Cutting {
  /**
   * Asked for each request that is taken: after how many bytes of its answer the connection is cut; null: it is not.
   */
  cutAfter: (body: any) => number | null;
}

/** One conversation, in which the first turn is cut. */
export interface Talk {
  readonly trial: Trial;
  readonly tools: Tools;
  readonly gate: Cutting;
  house: House;
  readonly kind: Kind;
  readonly assistantId: string;
  readonly sessionId: string;
  readonly count: number;
  restart(): Promise<void>;
}

/** A way to cut a first turn, and the server that it is tried on. */
export interface Case {
  readonly kind: Kind;
  readonly count: number;
  readonly way: string;
  readonly house: House;
  restart(): Promise<House>;
}

/**
 * Opens a conversation with an assistant that has the tools, and cuts its first turn. `fields`: its model, and its
 * tools in their order.
 */
export async function cutConversation(
  trial: Trial,
  tools: Tools,
  gate: Cutting,
  { kind, count, way, house, restart }: Case,
  fields: { readonly model: object; readonly tool_ids: readonly string[] },
): Promise<Talk> {
  const assistant = await house.assistant({
    ...fields,
    tool_rounds_max: 2,
    greeting: trial.random.pick([null, 'Welcome']),
  });
  const { id: sessionId } = await house.session(assistant.id);
  const talk: Talk = {
    trial,
    tools,
    gate,
    house,
    kind,
    assistantId: assistant.id,
    sessionId,
    count,
    restart: async () => void (talk.house = await restart()),
  };
  await cutFirstTurn(talk, way);
  return talk;
}

const names: Readonly<Record<Kind | 'client' | 'asking', string>> = {
  http: 'look_up',
  mcp: 'find',
  client: 'pick',
  asking: 'book',
};

/** Sends a message. */
export const said = (talk: Talk, message: string): Listener =>
  new Listener(talk.house, `/sessions/${talk.sessionId}/chat`, { message });
/** The message for which the model calls. */
export const calling = (talk: Talk, name = names[talk.kind]): string => `call ${name} ${talk.count} times`;

/** Resolves once the model has called a tool that does not answer; null if the turn ends all the same. */
async function held(talk: Talk): Promise<Listener> {
  const { tool, mcp } = talk.tools;
  let release = (): void => {};
  tool.delayMs = () => Infinity;
  mcp.hold = new Promise((resolve) => (release = resolve));
  const before = tool.reached.length + mcp.reached;
  const listener = said(talk, calling(talk));
  await until(() => tool.reached.length + mcp.reached >= before + talk.count);
  mcp.hold = null;
  setImmediate(release);
  return listener;
}

const abort = async ({ house, sessionId }: Talk, { turnId }: Listener): Promise<unknown> =>
  house.ask(`/sessions/${sessionId}/turns/${turnId}/abort`, { method: 'POST' });

/** The ways in which the first turn goes. */
const ways: Readonly<Record<string, (talk: Talk) => Promise<unknown>>> = {
  whole: (talk) => said(talk, calling(talk)).over,
  'aborted while it calls': async (talk) => {
    const listener = await held(talk);
    await listener.answered;
    await abort(talk, listener);
    await listener.over;
  },
  'killed while it calls': async (talk) => {
    const listener = await held(talk);
    await talk.house.kill('SIGKILL');
    await listener.over;
    await talk.restart();
  },
  'some answered, then aborted': async (talk) => {
    const { tool } = talk.tools;
    let given = 0;
    tool.delayMs = () => (given++ === 0 ? 0 : Infinity);
    const before = tool.reached.length;
    const listener = said(talk, calling(talk, names.http));
    await until(() => tool.reached.length >= before + talk.count);
    await listener.answered;
    await abort(talk, listener);
    await listener.over;
  },
  'the provider is cut in its calls': (talk) => cutAt(talk, (body) => !hasResult(body)),
  'the provider is cut behind the results': (talk) => cutAt(talk, hasResult),
  'a model that calls nothing there is': (talk) => said(talk, calling(talk, 'fly_away')).over,
  'a model that never ends': (talk) => said(talk, `${calling(talk)} for ever`).over,
  'arguments that are no JSON': (talk) => said(talk, `${calling(talk)} badly`).over,
  'calls that wait, and are passed over': (talk) => said(talk, calling(talk, names.client)).over,
  'calls that wait, and are answered': async (talk) => {
    await said(talk, calling(talk, names.client)).over;
    await answer(talk, (call_id) => ({ call_id, output: 'picked' }));
  },
  'calls that are declined': async (talk) => {
    await said(talk, calling(talk, names.asking)).over;
    await answer(talk, (call_id, index) => ({ call_id, approved: index % 2 === 1 }));
  },
  'calls that are approved, then killed': async (talk) => {
    await said(talk, calling(talk, names.asking)).over;
    const { tool } = talk.tools;
    tool.delayMs = () => Infinity;
    const before = tool.reached.length;
    const over = answer(talk, (call_id) => ({ call_id, approved: true }));
    await until(() => tool.reached.length >= before + talk.count);
    await talk.house.kill('SIGKILL');
    await over;
    await talk.restart();
  },
  'a version without the tools is published': async (talk) => {
    await said(talk, calling(talk)).over;
    await talk.house.revise(talk.assistantId, { tool_ids: [] });
  },
};

const hasResult = ({ messages }: any): boolean =>
  messages.at(-1).role === 'tool' ||
  (Array.isArray(messages.at(-1).content) && messages.at(-1).content.some(({ type }: any) => type === 'tool_result'));

async function cutAt(talk: Talk, which: (body: any) => boolean): Promise<void> {
  const { gate } = talk;
  gate.cutAfter = (body) => (which(body) ? Math.floor(10 * 150 ** talk.trial.random.next()) : null);
  await said(talk, calling(talk)).over;
  gate.cutAfter = () => null;
}

async function answer(talk: Talk, each: (callId: string, index: number) => object): Promise<void> {
  const { pending_tool_calls: pending } = (await talk.house.ask(`/sessions/${talk.sessionId}`)).json;
  await new Listener(talk.house, `/sessions/${talk.sessionId}/chat`, {
    tool_results: pending.map(({ call_id: id }: any, index: number) => each(id, index)),
  }).over;
}

const kills = (way: string): boolean => way.includes('killed');

/** The ways in which a turn is cut; those that kill the server come last. */
export const waysToCut: readonly string[] = Object.keys(ways).sort(
  (one, other) => Number(kills(one)) - Number(kills(other)),
);

/** Has the first turn of a conversation cut, and what is left of it sealed. */
async function cutFirstTurn(talk: Talk, way: string): Promise<void> {
  const { tool, mcp } = talk.tools;
  await ways[way]!(talk);
  tool.delayMs = () => 0;
  mcp.hold = null;
  await sealed(talk.house, talk.sessionId);
}

/** Sends messages; each has to be answered by a whole turn. */
export async function goOn(talk: Talk, messages: readonly string[], about: string): Promise<void> {
  for (const [index, message] of messages.entries()) {
    const next = said(talk, message);
    await next.over;
    talk.trial.must(
      next.status === 200 && next.ending === 'turn.completed',
      `${about}: turn ${index + 1} after it is answered ${next.status} ${next.code ?? next.ending}`,
    );
  }
}

/** The tools, as a workspace has them. */
export async function openTools(t: Owner, house: House): Promise<Tools> {
  const tool = await openTool(t);
  const { url, mcp } = await openMcp(t);
  const functions = (name: string) => [
    { name, parameters: { type: 'object', properties: { order: { type: 'string' } } } },
  ];
  const made = async (fields: object): Promise<string> =>
    (await told(house, '/tools', { timeout_seconds: 30, ...fields })).id;
  const mcpId = await made({ kind: 'mcp', name: 'MCP', url });
  await told(house, `/tools/${mcpId}/refresh`, {});
  await told(house, `/tools/${mcpId}`, { functions: [{ name: names.mcp, enabled: true }] }, 'PATCH');
  const toolIds = {
    http: await made({ kind: 'http', name: 'HTTP', url: tool.url, functions: functions(names.http) }),
    mcp: mcpId,
    client: await made({ kind: 'client', name: 'Client', functions: functions(names.client) }),
    asking: await made({
      kind: 'http',
      name: 'Asking',
      url: tool.url,
      approval: 'always',
      functions: functions(names.asking),
    }),
  };
  return { tool, mcp, toolIds };
}

async function openMcp(t: Owner): Promise<{ url: string; mcp: Tools['mcp'] }> {
  const mcp: Tools['mcp'] = { hold: null, reached: 0 };
  const server = new MCPMock({ port: 0 });
  server.addTool({
    name: names.mcp,
    description: 'Finds.',
    inputSchema: { type: 'object', properties: { order: { type: 'string' } } },
  });
  server.onToolCall(names.mcp, async () => {
    mcp.reached++;
    if (mcp.hold !== null) await mcp.hold;
    return 'found';
  });
  const url = await server.start();
  t.teardown(() => server.stop());
  return { url: `${url}/mcp`, mcp };
}
