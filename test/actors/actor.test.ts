/** An actor that is only a state and a context decides as a live XState actor of the same machine does. */
import fc from 'fast-check';
import t from 'tap';
import { and, assign, createActor, createMachine, emit, enqueueActions, setup, type AnyStateMachine } from 'xstate';
import { plainTransition } from '../../machines/plain.ts';
import type { MachineKind } from '../../machines/version.ts';
import { openActor } from '../../src/actors/actor.ts';
import { Inspector, type Inspected } from '../../src/actors/inspector.ts';
import { machines, step } from '../machines/machine.ts';

type Event = { type: string };

const identity = { kind: 'any', id: 'any_1', workspaceId: 'wks_1' };
const inputs: Record<string, object> = {
  session: { expiresAt: 2000 },
  key: { expiresAt: 2000 },
  workspace: { inFlight: 0, max: 3 },
  assistant: { voice: false },
  attendance: { since: 1000 },
  release: { current: null, candidate: null },
  socket: { tokenUntil: 1_500_000, expiresAt: 2000 },
  turn: { runsUntil: 2000, shared: true },
  call: { tokenUntil: 1_500_000, expiresAt: 2000 },
  reply: { greeting: false, early: false },
};

const kindOf = (machine: AnyStateMachine): MachineKind => ({ name: 'any', machine, version: 1, migrations: [] });
const open = (machine: AnyStateMachine, from: Parameters<typeof openActor>[1], inspector = new Inspector()) =>
  openActor<Event, Event>(kindOf(machine), from, identity, inspector);

function live(machine: AnyStateMachine, input: object) {
  const actor = createActor(machine, { input });
  const outcomes: Event[] = [];
  actor.on('*', (outcome) => outcomes.push(outcome));
  actor.start();
  return (event: Event) => {
    outcomes.length = 0;
    actor.send(event);
    return { state: actor.getSnapshot().value, context: actor.getSnapshot().context, outcomes: [...outcomes] };
  };
}

for (const [name, { machine, rows }] of Object.entries(machines)) {
  t.test(`${name} obeys each row of its table`, async (t) => {
    for (const row of rows) {
      const actor = open(machine, { snapshot: { version: 1, state: row.from, context: row.context } });
      const outcomes = actor.send(row.event);
      const {
        state,
        context,
        outcomes: expected,
      } = step(machine, { state: row.from, context: row.context }, row.event);
      t.strictSame(
        { state: actor.state, context: actor.context, outcomes },
        { state, context, outcomes: expected },
        `${row.from} × ${JSON.stringify(row.event)}`,
      );
    }
  });

  t.test(`${name} obeys random events from its beginning`, async () => {
    const events = fc.array(fc.constantFrom(...rows.map(({ event }) => event)), { maxLength: 12 });
    fc.assert(
      fc.property(events, (list) => {
        const [actor, twin] = [open(machine, { input: inputs[name] }), live(machine, inputs[name]!)];
        for (const event of list) {
          const outcomes = actor.send(event);
          t.strictSame({ state: actor.state, context: actor.context, outcomes }, twin(event));
        }
      }),
    );
  });
}

t.test('every machine of ours runs without an interpreter', async (t) => {
  for (const [name, { machine }] of Object.entries(machines)) t.ok(plainTransition(machine), name);
});

t.test('a machine that is not plain is left to XState', async (t) => {
  const noted = { states: { there: {} }, context: { notes: 0 }, initial: 'here' };
  const note = assign({ notes: ({ context }: { context: { notes: number } }) => context.notes + 1 });
  const implementations = {
    guards: { always: () => true },
    actions: { note, queue: enqueueActions(({ enqueue }) => enqueue('note')) },
  };
  const definitions: Record<string, object> = {
    'an entry action': { here: { on: { go: 'there' } }, there: { entry: 'note' } },
    'an exit action': { here: { on: { go: 'there' }, exit: 'note' }, there: {} },
    'a transition without an event': {
      here: { on: { go: 'there' } },
      there: { always: { target: 'beyond', actions: 'note' } },
      beyond: {},
    },
    'an event by wildcard': { here: { on: { '*': { target: 'there', actions: 'note' } } }, there: {} },
    'a guard made of guards': {
      here: { on: { go: { guard: and(['always', 'always']), target: 'there', actions: 'note' } } },
      there: {},
    },
    'an action that queues others': { here: { on: { go: { target: 'there', actions: 'queue' } } }, there: {} },
    'parameters that are computed': {
      here: { on: { go: { target: 'there', actions: { type: 'note', params: () => ({}) } } } },
      there: {},
    },
    'a transition to the machine itself': { here: { on: { go: { target: '#whole', actions: 'note' } } } },
    'a state within a state': {
      here: { on: { go: 'there' } },
      there: { initial: 'within', states: { within: { entry: 'note' } } },
    },
  };
  for (const [what, states] of Object.entries(definitions)) {
    const machine = createMachine(
      { id: 'whole', ...noted, states: { there: {}, ...states } } as object,
      implementations as object,
    ) as unknown as AnyStateMachine;
    t.equal(plainTransition(machine), null, what);
    const actor = open(machine, { input: undefined });
    actor.send({ type: 'go' });
    t.same(actor.context, { notes: 1 }, `${what} happens`);
  }
});

t.test('an uncommitted step is undone', async (t) => {
  const actor = open(machines['assistant']!.machine, { input: { voice: false } });
  const before = actor.snapshot();
  actor.send({ type: 'publish' });
  t.equal(actor.state, 'published');
  actor.restore(before);
  t.strictSame(actor.snapshot(), before);
});

t.test('a fault of the machine is thrown and leaves the state unchanged', async (t) => {
  const faulty = setup({ types: { events: {} as Event } }).createMachine({
    initial: 'here',
    states: {
      here: {
        on: {
          fault: {
            target: 'there',
            actions: [
              emit({ type: 'half' }),
              () => {
                throw new Error('a fault');
              },
            ],
          },
          go: { target: 'there', actions: emit({ type: 'went' }) },
        },
      },
      there: {},
    },
  });
  const [one, other] = [open(faulty, { input: undefined }), open(faulty, { input: undefined })];
  t.throws(() => one.send({ type: 'fault' }), { message: 'a fault' });
  t.equal(one.state, 'here');
  t.strictSame(other.send({ type: 'go' }), [{ type: 'went' }]);
  t.equal(one.state, 'here');
});

t.test('a watcher sees the previous state and the outcomes', async (t) => {
  const inspector = new Inspector();
  const seen: Inspected[] = [];
  const actor = open(machines['assistant']!.machine, { input: { voice: false } }, inspector);
  inspector.watch((inspected) => seen.push(inspected));
  const outcomes = actor.send({ type: 'publish' });
  t.match(seen, [
    { type: 'event', actor: identity, event: { type: 'publish' }, from: 'draft', to: 'published', outcomes },
  ]);
});
