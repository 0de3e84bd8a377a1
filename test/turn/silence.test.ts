/**
 * Calls of tools that are about to be sent when a person takes the session (contract 23, D1). The process of the turn has
 * no notice of the take: only the store knows of it.
 */
import type { LookupAddress } from 'node:dns';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import { limits } from '../../src/base/limits.ts';
import { WheelClock } from '../../src/base/clock.ts';
import { providerHttp } from '../../src/providers/client.ts';
import type { OfferedFunction, ToolAccess } from '../../src/providers/tool.ts';
import { toolInvoker } from '../../src/providers/tool/invoker.ts';
import type { TurnTools } from '../../src/assistant/tools.ts';
import { openServer } from '../api/mcp-server.ts';
import { noTools, Scene, StagedModel, unreported, withSteps } from '../host/scene.ts';

const act: OfferedFunction = {
  toolId: 'tool_1',
  kind: 'http',
  name: 'act',
  description: null,
  parameters: { type: 'object' },
  approval: 'never',
  show: 'name',
};

/** A promise that the test resolves, and one that resolves once somebody waits for it. */
class Hold {
  readonly reached: Promise<void>;
  release!: () => void;
  readonly #released: Promise<void>;
  #reach!: () => void;

  constructor() {
    this.reached = new Promise((resolve) => (this.#reach = resolve));
    this.#released = new Promise((resolve) => (this.release = resolve));
  }

  wait(): Promise<void> {
    this.#reach();
    return this.#released;
  }
}

/** A tool that counts the calls that reach it, with the answer to each. */
interface Counter {
  readonly kind: 'http' | 'mcp';
  readonly url: string;
  /** Number of calls that have reached it. */
  count(): number;
  /** Number of its connections before the one of the call. */
  readonly before: number;
}

async function httpTool(t: Test, status = 200): Promise<Counter> {
  let count = 0;
  const server = createServer((request, response) => {
    count++;
    request.resume().on('end', () => response.writeHead(status, { 'content-type': 'text/plain' }).end('done'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => (server.closeAllConnections(), server.close()));
  const { port } = server.address() as AddressInfo;
  return { kind: 'http', url: `http://tool.test:${port}/`, count: () => count, before: 0 };
}

async function mcpTool(t: Test): Promise<Counter> {
  const server = await openServer(t, 'modern', {});
  const url = server.url.replace('127.0.0.1', 'tool.test');
  const count = (): number => server.got.filter(({ method }) => method === 'tools/call').length;
  return { kind: 'mcp', url, count, before: 1 };
}

/** The moments at which the call is held: before its request, while it connects, and before its second try. */
type Moment = 'begun' | 'connecting' | 'retrying';

/** A turn that calls the tool, held at a moment, and a second process on the same store. */
async function stage(t: Test, tool: Counter, moment: Moment) {
  const scene = await Scene.open();
  const deaf = withSteps(scene.store, { leaseMs: limits.leaseMs, watch: async () => async () => {} });
  const [one, two] = [scene.beside(deaf), scene.beside(deaf)];
  const hold = new Hold();
  const wheel = new WheelClock();
  let lookups = 0;
  const address: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }];
  const held = { begun: -1, connecting: tool.before, retrying: tool.before + 1 }[moment];
  const http = providerHttp({
    clock: wheel,
    allowPrivate: true,
    lookup: (_name, _options, callback) => {
      const answer = (): void => callback(null, address);
      if (lookups++ === held) void hold.wait().then(answer);
      else answer();
    },
  });
  const invoker = toolInvoker(http, wheel);
  t.teardown(async () => {
    await invoker.close();
    await http.close();
    wheel.stop();
    for (const { host } of [one, two]) host.close();
  });
  const access: ToolAccess = {
    workspaceId: one.workspaceId,
    kind: tool.kind,
    url: tool.url,
    timeoutSeconds: 20,
    repeatable: true,
    secrets: [],
    headers: {},
  };
  const results: string[] = [];
  const tools: TurnTools = {
    ...noTools,
    find: (name) => (name === act.name ? act : null),
    check: () => ({}),
    admit: async () => null,
    async call(_offered, callId, given, turnId, signal, stands) {
      if (moment === 'begun') await hold.wait();
      const { workspaceId, assistantId } = one;
      const context = { workspaceId, assistantId, sessionId: 'ses_1', turnId, channel: 'api', signedVisitorId: null };
      const invocation = { callId, arguments: given, context: { ...context, visitor: {}, metadata: {} }, stands };
      const result = await invoker.invoke(access, act, invocation, signal);
      results.push(result.status);
      return result;
    },
  };
  const model = Object.assign(
    new StagedModel((sink) => {
      if (model.conversation.at(-1)!.role === 'user' && results.length === 0) {
        sink.call!({ name: 'act', arguments: '{}' });
        sink.end();
      }
    }),
    { tools },
  );
  const session = await one.session();
  const started = await one.host.turns.begin(await one.actor(session.id), {
    message: 'Hello',
    assistantRefusal: null,
    takesSlot: true,
    remember: null,
    model,
    reports: unreported,
  });
  if (started.kind !== 'started') throw new Error(`The turn is ${started.kind}.`);
  return { one, two, hold, runner: started.runner, sessionId: session.id, results };
}

const ann = { id: 'prs_1', name: 'Ann' };

/** Takes the session in a process; resolves once that is stored. */
async function take(by: Scene, sessionId: string): Promise<void> {
  // The take is answered once the turn is sealed.
  by.host.attendances.take(await by.actor(sessionId), ann, nobody).catch(() => {});
  for (;;) {
    const stored = await by.store.sessions.read(by.workspaceId, sessionId);
    if (stored?.record.attendance?.state === 'person') return;
    await new Promise(setImmediate);
  }
}

async function silent(t: Test, tool: Counter, moment: Moment, where: 'here' | 'elsewhere'): Promise<void> {
  const { one, two, hold, runner, sessionId } = await stage(t, tool, moment);
  await hold.reached;
  const before = tool.count();
  await take(where === 'here' ? one : two, sessionId);
  hold.release();
  await runner.over;
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(tool.count(), before, 'no request leaves after the take');
  const turn = await one.store.turns.read(one.workspaceId, sessionId, runner.turnId);
  t.match(turn, { status: 'aborted', stopReason: 'taken' });
  const reply = (await one.transcript(sessionId)).find(({ role }) => role === 'assistant');
  t.match(reply?.toolCalls, [{ status: 'cancelled', output: null }]);
}

t.test('[D1] no call leaves once a person has taken the session', async (t) => {
  for (const where of ['here', 'elsewhere'] as const) {
    for (const moment of ['begun', 'connecting'] as const) {
      await t.test(`a call of an HTTP tool, ${moment}, taken ${where}`, async (t) =>
        silent(t, await httpTool(t), moment, where),
      );
      await t.test(`a call of an MCP tool, ${moment}, taken ${where}`, async (t) =>
        silent(t, await mcpTool(t), moment, where),
      );
    }
    await t.test(`a second try, taken ${where}`, async (t) => silent(t, await httpTool(t, 503), 'retrying', where));
  }
});

t.test('a call that no take precedes is sent', async (t) => {
  for (const tool of [await httpTool(t), await mcpTool(t)]) {
    const { hold, runner, results } = await stage(t, tool, 'connecting');
    await hold.reached;
    hold.release();
    while (results.length === 0) await new Promise(setImmediate);
    t.same([tool.count(), results], [1, ['completed']]);
    await runner.stop('aborted');
  }
});
