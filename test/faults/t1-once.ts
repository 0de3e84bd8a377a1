/**
 * T1: a tool call reaches its tool at most once, under any fault. A call of a repeatable tool reaches it three times at
 * most, and never once its turn is sealed. T2: the transcript has the calls that the tool saw. A process with turns
 * that call tools is killed, or stopped for longer than its lease; an abort and an end cut others.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { limits } from '../../src/base/limits.ts';
import type { House } from '../api/house.ts';
import type { Experiment, StoreKind, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { Listener } from './listener.ts';
import type { Owner } from '../folders.ts';
import { assistantWith, openMcpTool, openTool, seenByConsole, told, type Reached, type Tool } from './tool-house.ts';

/** The processes that share Redis: the victim is one of them. */
const processesCount = 3;

interface Talk {
  readonly id: string;
  readonly listener: Listener;
}

interface Scene {
  readonly ground: Ground;
  readonly tool: Tool;
  /**
   * Assistants whose model calls: in one round or several, side by side, beside text, an MCP server, a tool that is
   * repeatable, and after an approval.
   */
  readonly callers: readonly string[];
  readonly approver: string;
}

type Check = (trial: Trial, talk: Talk, reached: readonly Reached[], messages: readonly any[]) => void;

function experiment(
  promise: string,
  does: string,
  ways: (store: StoreKind) => readonly Way[],
  check: Check,
): Experiment {
  return {
    promise,
    name: 'calls',
    does,
    stores: ['lmdb', 'redis'],
    abreast: { lmdb: 2, redis: 4 },
    lacking: lackingRedis,
    async open(t, store) {
      const ground = await Ground.open(t, store);
      const first = await ground.server();
      const scene = await furnished(t, ground, first, await openTool(t));
      const survivors = store === 'redis' ? [first, ...(await more(ground, processesCount - 2))] : [];
      let house = first;
      return async (trial) => {
        const victim = store === 'redis' ? await ground.server() : house;
        const way = trial.random.pick(ways(store));
        const talks = await cut(trial, scene, victim, way);
        if (store === 'lmdb' && way === 'kill') house = await ground.server();
        for (const talk of talks)
          await looked(trial, scene, store === 'redis' ? trial.random.pick(survivors) : house, talk, check);
        if (store === 'redis') await victim.kill('SIGKILL');
      };
    },
  };
}

async function more(ground: Ground, count: number): Promise<House[]> {
  const houses: House[] = [];
  while (houses.length < count) houses.push(await ground.server());
  return houses;
}

async function furnished(t: Owner, ground: Ground, house: House, tool: Tool): Promise<Scene> {
  const functions = [{ name: 'count', parameters: { type: 'object' } }];
  const { id } = await told(house, '/tools', {
    kind: 'http',
    name: 'Counter',
    url: tool.url,
    timeout_seconds: 60,
    functions,
  });
  const asking = await told(house, '/tools', {
    kind: 'http',
    name: 'Asking',
    url: tool.url,
    timeout_seconds: 60,
    approval: 'always',
    functions,
  });
  const repeatable = await told(house, '/tools', {
    kind: 'http',
    name: 'Repeatable',
    url: tool.repeatableUrl,
    timeout_seconds: 60,
    repeatable: true,
    functions,
  });
  const mcp = await told(house, '/tools', {
    kind: 'mcp',
    name: 'MCP',
    url: await openMcpTool(t, 'count', tool),
    timeout_seconds: 60,
  });
  await told(house, `/tools/${mcp.id}/refresh`, {});
  await told(house, `/tools/${mcp.id}`, { functions: [{ name: 'count', enabled: true }] }, 'PATCH');
  const models: readonly (readonly [string, string])[] = [
    ['call=count,tokens=5', id],
    ['call=count,calls=3,tokens=2000,delay_ms=1', id],
    ['call=count,call_rounds=6,tokens=5', id],
    ['call=count,calls=8,call_rounds=3,tokens=5,delay_ms=1', id],
    ['call=count,calls=3,call_rounds=2,tokens=5', mcp.id],
    ['call=count,calls=3,call_rounds=2,tokens=5', repeatable.id],
    ['call=count,calls=8,call_rounds=3,tokens=5', repeatable.id],
  ];
  const callers = await Promise.all(
    models.map(async ([model, toolId]) => (await assistantWith(house, model, [toolId])).id as string),
  );
  return {
    ground,
    tool,
    callers,
    approver: (await assistantWith(house, 'call=count,calls=2,tokens=5', [asking.id])).id,
  };
}

/** Ways to cut the turns; `stop`: the process is stopped until others have taken its turns over, and then continues. */
type Way = 'kill' | 'stop' | 'abort' | 'end';

/** Several turns at once; they are cut when the tool has got so many calls, and a little later. */
async function cut(trial: Trial, scene: Scene, victim: House, way: Way): Promise<Talk[]> {
  const { random } = trial;
  const { tool } = scene;
  const delayMs = random.pick([0, 5, 50, Infinity]);
  tool.delayMs = () => delayMs;
  tool.refuses = () => random.pick(['passing', 'cut', null]);
  const ids = await Promise.all(
    Array.from({ length: random.between(1, 4) }, () => waiting(random.chance(0.25), trial, scene, victim)),
  );
  const wanted = tool.reached.length + random.between(0, 6);
  let soon = (): void => {};
  const reached = new Promise<void>((resolve) => (soon = resolve));
  tool.onCall = () => tool.reached.length >= wanted && soon();
  const talks = ids.map(({ id, body }) => ({ id, listener: new Listener(victim, `/sessions/${id}/chat`, body) }));
  await Promise.race([reached, pause(random.pick([50, 3000, 3000]))]);
  // Sometimes behind the pause before a call comes again.
  await pause(random.pick([0, 0, 260, 300]) + random.delay(5, 40));
  trial.count(way);
  if (way === 'kill') await victim.kill('SIGKILL');
  else if (way === 'stop') {
    victim.child.kill('SIGSTOP');
    await pause(limits.leaseMs + 1500);
    victim.child.kill('SIGCONT');
  } else await Promise.all(talks.map((talk) => stopped(victim, talk, way)));
  await Promise.all(talks.map(({ listener }) => Promise.race([listener.over, pause(limits.leaseMs + 5000)])));
  return talks;
}

/** A session that waits for its next chat; some wait for an approval. */
async function waiting(
  approves: boolean,
  { random }: Trial,
  { ground, callers, approver }: Scene,
  victim: House,
): Promise<{ id: string; body: object }> {
  if (!approves)
    return { id: await ground.session(victim, { assistant_id: random.pick(callers) }), body: { message: 'Go' } };
  const id = await ground.session(victim, { assistant_id: approver });
  const asked = new Listener(victim, `/sessions/${id}/chat`, { message: 'Go' });
  await asked.over;
  const { pending_tool_calls: pending } = (await victim.ask(`/sessions/${id}`)).json;
  return {
    id,
    body: { tool_results: pending.map(({ call_id }: { call_id: string }) => ({ call_id, approved: true })) },
  };
}

async function stopped(house: House, { id, listener }: Talk, way: 'abort' | 'end'): Promise<void> {
  if (way === 'end') return void (await house.ask(`/sessions/${id}/end`, { method: 'POST' }));
  await listener.answered;
  if (listener.turnId !== '') await house.ask(`/sessions/${id}/turns/${listener.turnId}/abort`, { method: 'POST' });
}

async function looked(trial: Trial, { tool }: Scene, house: House, talk: Talk, check: Check): Promise<void> {
  await sealed(house, talk.id);
  const messages = await seenByConsole(house, talk.id);
  const reached = tool.reached.filter(({ sessionId }) => sessionId === talk.id);
  trial.count('turns');
  trial.count('calls', reached.length);
  check(trial, talk, reached, messages);
  for (const { tool_calls: calls } of messages) {
    trial.count('unknown', calls.filter(({ status }: any) => status === 'unknown').length);
    trial.must(
      calls.every(({ status }: any) => status !== 'running'),
      `${talk.id}: a call of a sealed turn is running: ${JSON.stringify(calls)}`,
    );
  }
  // The counter answers at once from here: the next turn works, and sends other ids.
  tool.delayMs = () => 0;
  tool.refuses = () => null;
  trial.count(
    'again',
    reached.filter(({ callId }, index) => reached.findIndex((other) => other.callId === callId) !== index).length,
  );
  const session = (await house.ask(`/sessions/${talk.id}`)).json;
  if (session.status !== 'open') return;
  const next = new Listener(house, `/sessions/${talk.id}/chat`, { message: 'Again' });
  await next.over;
  trial.must(
    next.ending === 'turn.completed',
    `${talk.id}: the next turn is answered ${next.status} ${next.code ?? next.ending}`,
  );
  const since = tool.reached.filter(({ sessionId }) => sessionId === talk.id);
  const late = since.slice(reached.length).filter(({ callId }) => reached.some((other) => other.callId === callId));
  trial.must(
    late.length === 0,
    `${talk.id}: ${late.map(({ callId }) => callId).join(', ')} reached the tool after its turn was sealed`,
  );
  check(trial, talk, since, await seenByConsole(house, talk.id));
}

/** Number of times that a call may reach a tool, once for each connection. */
const timesMax = ({ repeatable }: Reached): number => (repeatable ? 3 : 1);

const onceEach: Check = (trial, { id }, reached) => {
  const over = reached.filter((one) => reached.filter(({ callId }) => callId === one.callId).length > timesMax(one));
  trial.must(over.length === 0, `${id}: ${over.map(({ callId }) => callId).join(', ')} reached the tool again`);
};

/**
 * Each call that the tool saw is in the transcript, and what came of it is what the tool said, or that nobody knows.
 */
const inTranscript: Check = (trial, { id }, reached, messages) => {
  const calls = new Map<string, any>(
    messages.flatMap(({ tool_calls: made }) => made.map((call: any) => [call.id, call])),
  );
  for (const { callId, repeatable } of reached) {
    const call = calls.get(callId);
    const answered = reached.find((one) => one.callId === callId && one.answered !== null)?.answered ?? null;
    if (call === undefined)
      trial.must(false, `${id}: the tool saw ${callId}, and the transcript does not: ${JSON.stringify(messages)}`);
    else if (call.status === 'completed')
      trial.must(
        call.output === answered,
        `${callId}: the tool said ${answered}, and the transcript has ${call.output}`,
      );
    else
      trial.must(
        ['unknown', 'cancelled'].includes(call.status) ||
          (['timeout', ...(repeatable ? ['refused', 'unreachable'] : [])].includes(call.error) && answered === null),
        `${callId}: the tool saw it, and it is ${call.status} ${call.error}`,
      );
  }
};

const both = (store: StoreKind): readonly Way[] => (store === 'redis' ? ['kill', 'kill', 'stop'] : ['kill']);

export const callsOnce = experiment(
  'T1',
  `kill -9 and standstill of one of ${processesCount} processes in the midst of calls of tools`,
  both,
  onceEach,
);
export const callsAreStored = experiment(
  'T2',
  'the same, aborts and ends',
  (store) => [...both(store), 'abort', 'end'],
  (...given) => {
    onceEach(...given);
    inTranscript(...given);
  },
);
