/** The calls of a round, as they are decided before any is sent (contract 13). */
import t from 'tap';
import { limits } from '../../src/base/limits.ts';
import type { OfferedFunction } from '../../src/providers/tool.ts';
import { argumentsOf, checkArguments, argumentsError } from '../../src/providers/tool/arguments.ts';
import type { ToolCall } from '../../src/store/store.ts';
import type { Approved } from '../../src/turn/pending-tool-calls.ts';
import { ToolCallRounds, type ToolCallEvents, toolArgumentsKept } from '../../src/turn/tool-calls.ts';
import type { TurnTools } from '../../src/assistant/tools.ts';
import type { TurnSteps } from '../../src/turn/ports.ts';
import { TurnLog } from '../../src/turn/log.ts';
import { ManualClock } from '../providers/model/provider.ts';

const act: OfferedFunction = {
  toolId: 'tool_1',
  kind: 'http',
  name: 'act',
  description: null,
  parameters: { type: 'object', required: ['a'] },
  approval: 'never',
  show: 'name',
};

/** The calls of a round, with what was counted and what the store took. */
async function decided(asked: readonly (readonly [name: string, text: string])[], over: Partial<TurnTools> = {}) {
  const steps: ToolCall[][] = [];
  const { tools, counted } = toolsWith(over);
  const turn = { turnId: 'turn_1', calls: true, retries: false, noted: () => {} } as ToolCallEvents;
  const store = { step: async (_: number, calls: ToolCall[]) => (steps.push(calls), 'stored') } as unknown as TurnSteps;
  const calls = new ToolCallRounds(turn, tools, store, new TurnLog(), new ManualClock());
  for (const [name, text] of asked) calls.ask(name, text);
  await calls.store('', 0);
  t.same(steps, [calls.made], 'stored together, in one step');
  return { made: calls.made, counted, calls };
}

/** Tools with the one function, and the calls that they count as not sent. */
function toolsWith(over: Partial<TurnTools>) {
  const counted: string[] = [];
  let id = 0;
  const tools: TurnTools = {
    roundsMax: 8,
    find: (name) => (name === act.name ? act : null),
    check: (offered, text) => (offered === null ? argumentsOf(text) : checkArguments(offered.parameters, text)),
    misfit: ({ parameters }, text) => argumentsError(parameters, text),
    noteOffered: () => {},
    makeId: () => `call_${id++}`,
    admit: async () => null,
    admitApproved: async () => null,
    noteUnsent: (error) => counted.push(error),
    call: async () => ({ status: 'cancelled' }),
    ...over,
  };
  return { tools, counted };
}

t.test('a tool call that is not sent is counted once by its error', async (t) => {
  const fine = ['act', '{"a":1}'] as const;
  const { made, counted } = await decided([
    fine,
    ['fly away', '{"a":1}'],
    ['act', '{}'],
    ['act', '[1]'],
    ['act', '{"a"'],
    ...Array.from({ length: 4 }, () => fine),
  ]);
  t.same(
    made.map(({ status, error }) => error ?? status),
    ['running', 'unknown_tool', 'arguments', 'arguments', 'arguments', 'running', 'running', 'running', 'limit'],
  );
  t.same(counted, ['unknown_tool', 'arguments', 'arguments', 'arguments', 'limit']);
  t.same(made.map(({ name, arguments: given }) => [name, given]).slice(0, 4), [
    ['act', { a: 1 }],
    ['fly_away', { a: 1 }],
    ['act', {}],
    ['act', null],
  ]);
  const refused = await decided([fine], { admit: async () => 'limit' });
  t.same([refused.made[0]!.error, refused.counted], ['limit', []], 'whoever admits counts');
  t.same((await decided([fine], { roundsMax: 0 })).counted, ['limit'], 'behind the last round');
});

t.test('a tool call with invalid arguments has the reason that its model gets', async (t) => {
  const { made, calls } = await decided([
    ['act', '{}'],
    ['act', '[1]'],
    ['fly away', '{}'],
    ['act', '{"a":1}'],
  ]);
  t.same(
    made.map(({ reason }) => reason),
    ['`a` is missing.', 'They are not an object in JSON.', undefined, undefined],
  );
  t.match(
    calls.messages.map(({ content }) => content),
    [
      '',
      /do not fit the schema of the tool\. `a` is missing\.$/,
      /do not fit the schema of the tool\. They are not an object in JSON\.$/,
      /there is no tool of this name\.$/,
    ],
  );
});

t.test('calls beyond the bound of a round lose long arguments, and are bounded themselves', async (t) => {
  const long = JSON.stringify({ a: 'x'.repeat(toolArgumentsKept) });
  const { made } = await decided(
    Array.from({ length: 200 }, (_, index) => ['act', index === 20 ? '{"a":1}' : long] as const),
  );
  t.equal(made.length, limits.toolCallsTaken);
  t.same(
    made.map(({ arguments: given }) => given !== null),
    made.map((_, index) => index < limits.toolCallsMax || index === 20),
  );
});

t.test('a turn that ends for another reason cancels the calls that wait', async (t) => {
  const mine: OfferedFunction = { ...act, kind: 'client', name: 'mine' };
  const approved: OfferedFunction = { ...act, approval: 'always', name: 'approved' };
  const find = (name: string): OfferedFunction | null => [act, mine, approved].find((one) => one.name === name) ?? null;
  const asked = ['act', 'mine', 'approved'].map((name) => [name, '{"a":1}'] as const);
  const { made, calls } = await decided(asked, { find });
  t.same(
    made.map(({ status }) => status),
    ['running', 'pending', 'pending'],
  );
  calls.end(true);
  t.same(
    made.map(({ status }) => status),
    ['running', 'pending', 'pending'],
    'the turn ends so that they be answered',
  );
  calls.end(false);
  t.same(
    made.slice(1).map(({ status, error }) => [status, error]),
    [
      ['cancelled', 'cancelled'],
      ['cancelled', 'cancelled'],
    ],
    'it is aborted, or fails',
  );
});

t.test('results of approved calls are stored one after another, each with all earlier ones', async (t) => {
  const approved: OfferedFunction = { ...act, approval: 'always' };
  const call = (id: string): ToolCall => ({
    id,
    name: 'act',
    round: 0,
    position: 0,
    arguments: {},
    output: null,
    show: 'name',
    status: 'running',
    error: null,
    sent: true,
    createdAtMs: 0,
    endedAtMs: null,
  });
  const message = { role: 'assistant', toolCalls: ['call_1', 'call_2'].map(call) } as unknown as Approved['message'];
  const stored: string[][] = [];
  const answer: (() => void)[] = [];
  const steps = {
    step: (_: number, __: ToolCall[], amended: Approved) => (
      stored.push(amended.message.toolCalls.map(({ status }) => status)),
      new Promise((resolve) => answer.push(() => resolve('stored')))
    ),
  } as unknown as TurnSteps;
  const tools = {
    find: () => approved,
    call: async (_: OfferedFunction, id: string) => ({ status: 'completed', output: id }),
  } as unknown as TurnTools;
  let over = (): void => {};
  const isOver = new Promise<void>((resolve) => (over = resolve));
  const turn = {
    turnId: 'turn_1',
    calls: true,
    retries: false,
    noted: () => {},
    roundOver: () => over(),
  } as unknown as ToolCallEvents;
  const calls = new ToolCallRounds(turn, tools, steps, new TurnLog(), new ManualClock(), {
    index: 0,
    message,
    ids: ['call_1', 'call_2'],
  });
  calls.send();
  for (const expected of [
    ['completed', 'completed'],
    ['completed', 'completed'],
  ]) {
    while (answer.length === 0) await new Promise((resolve) => setImmediate(resolve));
    t.same(stored.at(-1), expected);
    answer.shift()!();
  }
  await isOver;
  t.equal(stored.length, 2);
  t.same(
    calls.amended!.message.toolCalls!.map(({ output }) => output),
    ['call_1', 'call_2'],
  );
});

t.test('a result on its way to the store is kept by the end of the turn', async (t) => {
  const { made, calls } = await decided(
    [
      ['act', '{"a":1}'],
      ['act', '{"a":2}'],
    ],
    {
      find: () => act,
      call: (_, id) =>
        id === 'call_0' ? Promise.resolve({ status: 'completed', output: 'done' }) : new Promise(() => {}),
    },
  );
  calls.send();
  // The result is there, and its step has no answer yet.
  await new Promise<void>((resolve) => queueMicrotask(resolve));
  calls.cancel();
  calls.end(false);
  t.same(
    made.map(({ status, output }) => [status, output]),
    [
      ['completed', 'done'],
      ['cancelled', null],
    ],
  );
});

t.test('a call is written only while the store says that its turn runs here', async (t) => {
  for (const [answer, expected] of [
    ['stored', true],
    ['fenced', false],
    [{ stop: 'aborted' }, false],
    [{ stop: 'taken' }, false],
  ] as const) {
    const told: string[] = [];
    const turn = {
      turnId: 'turn_1',
      calls: true,
      retries: false,
      noted: () => {},
      roundOver: () => {},
      taken: () => told.push('taken'),
      unstored: () => {},
    } as unknown as ToolCallEvents;
    let stood: boolean | undefined;
    const tools = {
      roundsMax: 8,
      find: () => act,
      check: () => ({ a: 1 }),
      misfit: () => '',
      noteOffered: () => {},
      makeId: () => 'call_1',
      admit: async () => null,
      admitApproved: async () => null,
      noteUnsent: () => {},
      call: async (...[, , , , , stands]: Parameters<TurnTools['call']>) => (
        (stood = await stands()),
        { status: 'failed', error: 'refused' } as const
      ),
    } satisfies TurnTools;
    const store = {
      step: async (_: number, sent: ToolCall[]) => (sent.length > 0 ? 'stored' : answer),
    } as unknown as TurnSteps;
    const calls = new ToolCallRounds(
      { ...turn, stopRequested: () => (told.push('stopped'), calls.cancel()) },
      tools,
      store,
      new TurnLog(),
      new ManualClock(),
    );
    calls.ask('act', '{"a":1}');
    await calls.store('', 0);
    calls.send();
    await new Promise(setImmediate);
    t.equal(stood, expected, JSON.stringify(answer));
    t.same(told, answer === 'stored' ? [] : [answer === 'fenced' ? 'taken' : 'stopped']);
  }
});

t.test('the store is asked again after a late answer, before a call is written', async (t) => {
  const clock = new ManualClock();
  const answers: (() => void)[] = [];
  let stood: boolean | undefined;
  const steps = {
    step: (_: number, sent: ToolCall[]) =>
      sent.length > 0 ? 'stored' : new Promise((resolve) => answers.push(() => resolve('stored'))),
  } as unknown as TurnSteps;
  const turn = { turnId: 'turn_1', calls: true, retries: false, noted: () => {}, roundOver: () => {} };
  const { tools } = toolsWith({
    call: async (...[, , , , , stands]) => ((stood = await stands()), { status: 'cancelled' }),
  });
  const calls = new ToolCallRounds(turn as unknown as ToolCallEvents, tools, steps, new TurnLog(), clock);
  calls.ask('act', '{"a":1}');
  await calls.store('', 0);
  calls.send();
  for (const lateMs of [limits.stopMs, limits.stopMs / 2, limits.stopMs / 2 - 1]) {
    t.equal(stood, undefined, 'nobody knows');
    clock.advance(lateMs);
    answers.shift()!();
    await new Promise(setImmediate);
  }
  t.equal(stood, true);
});

t.test("opaque fields of a provider's calls are bounded, and their ids are kept", async (t) => {
  const turn = { turnId: 'turn_1', calls: true, retries: false, noted: () => {} } as ToolCallEvents;
  const tools = {
    roundsMax: 8,
    find: () => null,
    check: () => ({}),
    makeId: () => 'call_1',
    noteUnsent: () => {},
  } as unknown as TurnTools;
  const calls = new ToolCallRounds(
    turn,
    tools,
    { step: async () => 'stored' } as unknown as TurnSteps,
    new TurnLog(),
    new ManualClock(),
  );
  const signature = 's'.repeat(limits.toolOpaqueCharactersMax - 100);
  const count = limits.toolCallsTaken;
  for (let index = 0; index < count; index++)
    calls.ask('act', '{}', {
      origin: 'o',
      id: `c${index}`,
      ...(index === 5 ? {} : { call: { signature }, round: { index } }),
    });
  await calls.store('', 0);
  t.same(
    calls.made.map(({ opaque }) => opaque?.id),
    Array.from({ length: count }, (_, index) => `c${index}`),
  );
  const whole = calls.made.filter(({ opaque }) => opaque?.call !== undefined);
  t.equal(whole.length, Math.floor(limits.toolOpaquesCharactersMax / (signature.length + 50)));
  for (const { opaque } of whole) t.match(opaque, { call: { signature }, round: { index: Number } });
  t.ok(JSON.stringify(calls.made).length < limits.toolOpaquesCharactersMax + count * 400);
});
