/**
 * T3: whatever cut a turn that calls tools, the next turn works. Each way to cut, times the number of calls side by side, in the dialects of
 * OpenAI and Anthropic, with tools over HTTP and of an MCP server; models and MCP server are mocks that were written elsewhere.
 */
import { LLMock, MCPMock } from '@copilotkit/aimock';
import type { House } from '../api/house.ts';
import { credentialOf, until } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { Listener } from './listener.ts';
import { openGate, type Gate } from './strict-provider.ts';
import { openTool, told, type Tool } from './tool-house.ts';

const dialects = ['openai', 'anthropic'] as const;
const kinds = ['http', 'mcp'] as const;
type Dialect = (typeof dialects)[number];
type Kind = (typeof kinds)[number];
const callsMax = 4;

/** A mock of a provider behind its gate, and the tools that its model calls. */
interface Stage {
  readonly ground: Ground;
  readonly gate: Gate;
  readonly tool: Tool;
  /** Waits before the MCP server answers. */
  readonly mcp: { hold: Promise<void> | null; reached: number };
  readonly credentials: Readonly<Record<Dialect, string>>;
  readonly toolIds: Readonly<Record<Kind | 'client' | 'asking', string>>;
}

/** One conversation, in which the first turn is cut. */
interface Talk {
  readonly trial: Trial;
  readonly stage: Stage;
  house: House;
  readonly kind: Kind;
  readonly assistantId: string;
  readonly sessionId: string;
  readonly count: number;
  restart(): Promise<void>;
}

const names: Readonly<Record<Kind | 'client' | 'asking', string>> = { http: 'look_up', mcp: 'find', client: 'pick', asking: 'book' };

const said = (talk: Talk, message: string): Listener => new Listener(talk.house, `/sessions/${talk.sessionId}/chat`, { message });
const calling = (talk: Talk, name = names[talk.kind]): string => `call ${name} ${talk.count} times`;

/** The model has called, and its tool does not answer; null if the turn is over all the same. */
async function held(talk: Talk): Promise<Listener> {
  const { tool, mcp } = talk.stage;
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

const abort = async ({ house, sessionId }: Talk, { turnId }: Listener): Promise<unknown> => house.ask(`/sessions/${sessionId}/turns/${turnId}/abort`, { method: 'POST' });

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
    const { tool } = talk.stage;
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
    const { tool } = talk.stage;
    tool.delayMs = () => Infinity;
    const before = tool.reached.length;
    const over = answer(talk, (call_id) => ({ call_id, approved: true }));
    await until(() => tool.reached.length >= before + talk.count);
    await talk.house.kill('SIGKILL');
    await over;
    await talk.restart();
  },
  'the tools are taken away': async (talk) => {
    await said(talk, calling(talk)).over;
    await told(talk.house, `/assistants/${talk.assistantId}`, { tool_ids: [] }, 'PATCH');
  },
};

const hasResult = ({ messages }: any): boolean => messages.at(-1).role === 'tool' || (Array.isArray(messages.at(-1).content) && messages.at(-1).content.some(({ type }: any) => type === 'tool_result'));

async function cutAt(talk: Talk, which: (body: any) => boolean): Promise<void> {
  const { gate } = talk.stage;
  gate.cutAfter = (body) => (which(body) ? Math.floor(10 * 150 ** talk.trial.random.next()) : null);
  await said(talk, calling(talk)).over;
  gate.cutAfter = () => null;
}

async function answer(talk: Talk, each: (callId: string, index: number) => object): Promise<void> {
  const { pending_tool_calls: pending } = (await talk.house.ask(`/sessions/${talk.sessionId}`)).json;
  await new Listener(talk.house, `/sessions/${talk.sessionId}/chat`, { tool_results: pending.map(({ call_id: id }: any, index: number) => each(id, index)) }).over;
}

/** How many of the ways kill the server: the others come first. */
const kills = (way: string): boolean => way.includes('killed');

export const nextTurnWorks: Experiment = {
  promise: 'T3',
  name: 'next',
  does: 'a turn that calls tools, cut in every way: the next one works',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    let house = await ground.server();
    const stage = await furnished(t, ground, house);
    return async (trial) => {
      const dialect = dialects[trial.seed % 2]!;
      const kind = kinds[Math.floor(trial.seed / 2) % 2]!;
      const count = 1 + (Math.floor(trial.seed / 4) % callsMax);
      const restart = async (): Promise<House> => (house = await ground.server());
      for (const way of Object.keys(ways).sort((one, other) => Number(kills(one)) - Number(kills(other)))) await cutAndGoOn(trial, stage, { dialect, kind, count, way, house, restart });
    };
  },
};

interface Case {
  readonly dialect: Dialect;
  readonly kind: Kind;
  readonly count: number;
  readonly way: string;
  readonly house: House;
  restart(): Promise<House>;
}

async function cutAndGoOn(trial: Trial, stage: Stage, { dialect, kind, count, way, house, restart }: Case): Promise<void> {
  const { toolIds, credentials, tool, mcp, gate } = stage;
  const model = { provider: dialect, name: 'any', credential_id: credentials[dialect] };
  const assistant = await house.assistant({ model, tool_ids: [toolIds[kind], ...Object.values(toolIds).filter((id) => id !== toolIds[kind])], tool_rounds_max: 2, greeting: trial.random.pick([null, 'Welcome']) });
  const { id: sessionId } = await house.session(assistant.id);
  const talk: Talk = { trial, stage, house, kind, assistantId: assistant.id, sessionId, count, restart: async () => void (talk.house = await restart()) };
  const case_ = `${way}, ${count} calls, ${kind}, ${dialect}`;
  await ways[way]!(talk);
  tool.delayMs = () => 0;
  mcp.hold = null;
  await sealed(talk.house, sessionId);
  // Twice: the second one has the first one in its history.
  for (const message of ['plain', calling(talk), 'plain']) {
    const next = said(talk, message);
    await next.over;
    trial.must(next.status === 200 && next.ending === 'turn.completed', `${case_}: the next turn is answered ${next.status} ${next.code ?? next.ending}`);
  }
  trial.must(gate.refused.length === 0, `${case_}: the provider refused ${gate.refused.splice(0).join('\n')}`);
  trial.count('conversations');
}

async function furnished(t: Owner, ground: Ground, house: House): Promise<Stage> {
  const mock = new LLMock({ port: 0, chunkSize: 8 });
  const isCall = /call (\w+) (\d) times( for ever| badly)?/;
  const asked = ({ messages }: any): RegExpExecArray | null => isCall.exec(JSON.stringify(messages.findLast(({ role }: any) => role === 'user')?.content ?? ''));
  const calls = ({ messages }: any): { content: string; toolCalls: { name: string; arguments: string }[] } => {
    const [, name, count, how] = asked({ messages })!;
    return { content: 'Let me see. ', toolCalls: Array.from({ length: Number(count) }, (_, index) => ({ name: name!, arguments: how === ' badly' ? '[]' : JSON.stringify({ order: `ö${index}` }) })) };
  };
  mock.on({ predicate: (request) => asked(request)?.[3] === ' for ever' }, calls as never);
  mock.on({ predicate: (request) => asked(request) !== null, hasToolResult: false }, calls as never);
  mock.on({ predicate: () => true }, { content: 'There it is: größer and 😀 in many small pieces.' });
  await mock.start();
  t.teardown(() => mock.stop());
  const gate = await openGate(t, mock.url);
  const tool = await openTool(t);
  const { url, mcp } = await openMcp(t);
  const credentials = { openai: (await credentialOf(house, 'openai', gate.url)).id, anthropic: (await credentialOf(house, 'anthropic', gate.url)).id };
  const functions = (name: string) => [{ name, parameters: { type: 'object', properties: { order: { type: 'string' } } } }];
  const made = async (fields: object): Promise<string> => (await told(house, '/tools', { timeout_seconds: 30, ...fields })).id;
  const mcpId = await made({ kind: 'mcp', name: 'MCP', url });
  await told(house, `/tools/${mcpId}/refresh`, {});
  await told(house, `/tools/${mcpId}`, { functions: [{ name: names.mcp, enabled: true }] }, 'PATCH');
  const toolIds = {
    http: await made({ kind: 'http', name: 'HTTP', url: tool.url, functions: functions(names.http) }),
    mcp: mcpId,
    client: await made({ kind: 'client', name: 'Client', functions: functions(names.client) }),
    asking: await made({ kind: 'http', name: 'Asking', url: tool.url, approval: 'always', functions: functions(names.asking) }),
  };
  return { ground, gate, tool, mcp, credentials, toolIds };
}

async function openMcp(t: Owner): Promise<{ url: string; mcp: Stage['mcp'] }> {
  const mcp: Stage['mcp'] = { hold: null, reached: 0 };
  const server = new MCPMock({ port: 0 });
  server.addTool({ name: names.mcp, description: 'Finds.', inputSchema: { type: 'object', properties: { order: { type: 'string' } } } });
  server.onToolCall(names.mcp, async () => {
    mcp.reached++;
    if (mcp.hold !== null) await mcp.hold;
    return 'found';
  });
  const url = await server.start();
  t.teardown(() => server.stop());
  return { url: `${url}/mcp`, mcp };
}
