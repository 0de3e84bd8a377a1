/** A machine that slept as packed bytes continues exactly like one that never slept. */
import { Packr } from 'msgpackr';
import t from 'tap';
import { createActor, type AnyStateMachine } from 'xstate';
import { getShortestPaths } from 'xstate/graph';
import { machines } from './machine.ts';

const inputs: Record<string, object> = {
  session: { expiresAt: 2000 },
  attendance: { since: 1 },
  key: { expiresAt: 2000 },
  workspace: { inFlight: 0, max: 3 },
  assistant: { voice: false },
  socket: { tokenUntil: 1_060_000, expiresAt: 2000 },
  visitor: {},
  turn: { runsUntil: 2000, shared: true, spoken: true, fallbacks: 1 },
  call: { tokenUntil: 1_060_000, expiresAt: 2000 },
  reply: { greeting: false, early: true },
};

/** Counts and deadlines of a call multiply its contexts: these events leave them as they are, or move them once. */
const ofCalls = new Set([
  'open',
  'voice',
  'voiced',
  'words',
  'early',
  'said',
  'typed',
  'interrupt',
  'begun',
  'audio',
  'played',
  'elsewhere',
  'elsewhere.over',
  'hangup',
  'drain',
]);

/** Progress of a reply multiplies its contexts in the same way. */
const ofReplies = new Set(['begun', 'announced', 'begin', 'pause', 'resume', 'cut', 'fail', 'finish', 'settled']);

const chosen: Readonly<Record<string, ReadonlySet<string>>> = { call: ofCalls, reply: ofReplies };

type Event = { type: string };

/** A live actor, its outcomes and its next state for an event. */
function live(machine: AnyStateMachine, options: object) {
  const actor = createActor(machine, options);
  const outcomes: object[] = [];
  actor.on('*', (outcome) => outcomes.push(outcome));
  actor.start();
  return {
    rest: () => ({ state: actor.getSnapshot().value, context: actor.getSnapshot().context }),
    send: (event: Event) => {
      outcomes.length = 0;
      actor.send(event);
      const { value, context } = actor.getSnapshot();
      return { state: value, context, outcomes: [...outcomes] };
    },
  };
}

for (const [name, { machine, rows }] of Object.entries(machines)) {
  t.test(name, async (t) => {
    const packr = new Packr();
    const input = inputs[name]!;
    const events = [...new Map(rows.map(({ event }) => [JSON.stringify(event), event])).values()].filter(
      (event) =>
        chosen[name] === undefined || (chosen[name].has(event.type) && (event as { at?: number }).at === 1_000_000),
    );
    const paths = getShortestPaths(machine, { events: events as never, input: input, limit: 60_000 });
    const states = new Set<string>();
    for (const path of paths) {
      const way = path.steps.map((step) => step.event as Event).filter((event) => event.type !== 'xstate.init');
      const arrive = () => {
        const actor = live(machine, { input });
        for (const event of way) actor.send(event);
        return actor;
      };
      const packed = packr.pack(arrive().rest());
      const differing = events.filter((event) => {
        const { state, context } = packr.unpack(packed);
        const woken = live(machine, { snapshot: machine.resolveState({ value: state, context }) });
        return JSON.stringify(woken.send(event)) !== JSON.stringify(arrive().send(event));
      });
      states.add(String(path.state.value));
      t.strictSame(differing, [], `${path.state.value} ${JSON.stringify(path.state.context)}`);
    }
    t.strictSame([...states].sort(), Object.keys(machine.states).sort(), 'every state slept once');
  });
}
