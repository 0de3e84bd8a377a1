/**
 * Every simple path through each machine's graph, with concrete events, deadlines passed and not (promise: only legal
 * states), and from each end of a path every event once more, so that no arrow of the graph is left out. Along each
 * path a live actor goes the same way, and what must hold of a state is checked wherever it comes by.
 */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { createActor, type AnyStateMachine } from 'xstate';
import { getAdjacencyMap, serializeSnapshot } from 'xstate/graph';
import { attendanceMachine, type AttendanceContext, type AttendanceEvent } from '../../machines/attendance.ts';
import { assistantMachine, type AssistantEvent } from '../../machines/assistant.ts';
import { callMachine, type CallContext, type CallEvent } from '../../machines/call.ts';
import { keyMachine, type KeyContext, type KeyEvent } from '../../machines/key.ts';
import { releaseMachine, type ReleaseContext, type ReleaseEvent } from '../../machines/release.ts';
import { replyMachine, type ReplyContext, type ReplyEvent } from '../../machines/reply.ts';
import { sessionMachine, type SessionContext, type SessionEvent } from '../../machines/session.ts';
import { socketMachine, type SocketContext, type SocketEvent } from '../../machines/socket.ts';
import { turnMachine, type TurnContext, type TurnEvent } from '../../machines/turn.ts';
import { visitorMachine, type VisitorContext, type VisitorEvent } from '../../machines/visitor.ts';
import { attemptsMax, runMachine, type RunContext, type RunEvent } from '../../machines/run.ts';
import { workspaceMachine, type WorkspaceContext, type WorkspaceEvent } from '../../machines/workspace.ts';

const early = 1_000_000;
const due = 2_000_000;

interface Walk<Event, Context> {
  readonly machine: AnyStateMachine;
  readonly input: object;
  readonly events: readonly Event[];
  /** States that this walk does not come by. */
  readonly unreached?: readonly string[];
  /** States that nothing leaves. */
  readonly final?: readonly string[];
  /** Invariants of every state, by the sentence that says each. */
  readonly invariants: Record<string, (state: string, context: Context, last: Event | undefined) => boolean>;
}

const chat = (at: number, assistantRefusal: string | null = null): SessionEvent => ({
  type: 'chat',
  at,
  turnId: 'turn_1',
  assistantRefusal,
});

const session: Walk<SessionEvent, SessionContext> = {
  machine: sessionMachine,
  input: { expiresAt: 2000 },
  events: [
    chat(early),
    chat(early, 'assistant_disabled'),
    chat(due),
    { type: 'abort', at: early, turnId: 'turn_1' },
    { type: 'abort', at: due, turnId: 'turn_1' },
    { type: 'end', at: early },
    { type: 'end', at: due },
    { type: 'tick', at: due },
    { type: 'finished', at: early, turnId: 'turn_1' },
    { type: 'finished', at: due, turnId: 'turn_1' },
    { type: 'finished', at: early, turnId: 'turn_0' },
  ],
  invariants: {
    'a turn is in flight in streaming and never in open': (state, { activeTurnId }) =>
      state === 'streaming' ? activeTurnId !== null : state !== 'open' || activeTurnId === null,
    'endedAt stands in ended and expired, and only there': (state, { endedAt }) =>
      (endedAt !== null) === (state === 'ended' || state === 'expired'),
    'an expired session ended at its deadline, an ended one before it': (state, { endedAt, expiresAt }) =>
      endedAt === null || (state === 'expired' ? endedAt === expiresAt : endedAt < expiresAt),
    'the deadline leaves no session that streams': (state, _, last) =>
      last === undefined || last.at < due || state !== 'streaming',
  },
};

const ann = { id: 'prs_ann', name: 'Ann' };
const bob = { id: 'prs_bob', name: 'Bob' };
const acts = (by: typeof ann): AttendanceEvent[] => [
  { type: 'take', at: early, by, untilMs: due, turnId: null },
  { type: 'say', at: early, by },
  { type: 'return', at: early, by },
  { type: 'release', at: early, by, untilMs: due },
];

const attendance: Walk<AttendanceEvent, AttendanceContext> = {
  machine: attendanceMachine,
  input: { since: 1 },
  events: [
    { type: 'ask', at: early, reason: null, untilMs: due },
    ...acts(ann),
    ...acts(bob),
    { type: 'tick', at: early, presentUntilMs: 0, untilMs: due },
    { type: 'tick', at: due, presentUntilMs: 0, untilMs: due + 1 },
    { type: 'tick', at: due, presentUntilMs: due + 1, untilMs: due + 1 },
  ],
  invariants: {
    'a person is named in person, and only there': (state, { person }) => (person !== null) === (state === 'person'),
    'the assistant has no deadline, and each other state has one': (state, { untilMs }) =>
      (untilMs === null) === (state === 'assistant'),
    'nobody waits past the deadline': (state, { untilMs }, last) =>
      last?.type !== 'tick' || state === 'assistant' || untilMs! > last.at,
  },
};

const longDebt = { budget: 'speech', until: early + 50_000 };
const shortDebt = { budget: 'requests', until: early + 1000 };

const key: Walk<KeyEvent, KeyContext> = {
  machine: keyMachine,
  input: { expiresAt: 2000 },
  events: [
    { type: 'request', at: early, debt: null },
    { type: 'request', at: early, debt: longDebt },
    { type: 'request', at: early, debt: shortDebt },
    { type: 'request', at: early + 50_000, debt: null },
    { type: 'request', at: due, debt: null },
    { type: 'revoke', at: early },
    { type: 'configure', at: early, expiresAt: 1000 },
    { type: 'configure', at: early, expiresAt: 2000 },
    { type: 'tick', at: early + 50_000 },
  ],
  invariants: {
    'a limited key is in debt, an active or revoked one is not': (state, { debt }) =>
      state === 'expired' || (state === 'limited') === (debt !== null),
    'revokedAt stands in revoked, and only there': (state, { revokedAt }) =>
      (revokedAt !== null) === (state === 'revoked'),
    'a key that may still ask has not been used past its expiry': (state, { expiresAt }, last) =>
      last?.type === 'revoke' ||
      state === 'revoked' ||
      state === 'expired' ||
      expiresAt === null ||
      last === undefined ||
      last.at < expiresAt * 1000,
    'a key is limited only until its debt is paid off': (state, { debt }, last) =>
      state !== 'limited' || last?.type === 'configure' || (last !== undefined && last.at < debt!.until),
  },
};

const workspace: Walk<WorkspaceEvent, WorkspaceContext> = {
  machine: workspaceMachine,
  input: { inFlight: 0, max: 2 },
  events: [
    { type: 'acquire' },
    { type: 'release' },
    { type: 'configure', max: 1 },
    { type: 'configure', max: 2 },
    { type: 'sync', inFlight: 3 },
  ],
  invariants: {
    'it is full exactly while no slot is free': (state, { inFlight, max }) => (state === 'full') === inFlight >= max,
    'no slot is owed': (_, { inFlight }) => inFlight >= 0,
  },
};

const run: Walk<RunEvent, RunContext> = {
  machine: runMachine,
  input: {},
  events: [
    { type: 'begin' },
    { type: 'advance' },
    { type: 'leave' },
    { type: 'finish', passed: true },
    { type: 'finish', passed: false },
    { type: 'cancel' },
    { type: 'interrupt' },
  ],
  invariants: {
    'no more processes in a row begin it than may': (_, { attempts }) => attempts >= 0 && attempts <= attemptsMax,
    'a run that waits was begun by nobody': (state, { attempts }) => state !== 'queued' || attempts === 0,
  },
};

const assistant: Walk<AssistantEvent, object> = {
  machine: assistantMachine,
  input: { voice: false },
  events: [
    { type: 'publish' },
    { type: 'unpublish' },
    { type: 'disable' },
    { type: 'enable' },
    { type: 'configure', voice: true },
    { type: 'speak' },
  ],
  invariants: {
    'each verb of the console leads where its name says': (state, _, last) =>
      ({ publish: 'published', unpublish: 'draft', disable: 'disabled' } as Record<string, string>)[
        last?.type ?? ''
      ] === state || !['publish', 'unpublish', 'disable'].includes(last?.type ?? ''),
    'an enabled assistant is not disabled': (state, _, last) => last?.type !== 'enable' || state !== 'disabled',
  },
};

const release: Walk<ReleaseEvent, ReleaseContext> = {
  machine: releaseMachine,
  input: { current: null, candidate: null },
  events: [
    { type: 'publish', version: 1 },
    { type: 'publish', version: 2 },
    { type: 'rollback', version: 1 },
    { type: 'rollout', version: 2 },
    { type: 'rollout', version: 3 },
    { type: 'promote' },
    { type: 'end' },
    { type: 'recall' },
    { type: 'halt' },
  ],
  invariants: {
    'a candidate is there while it is rolled out or halted, and only then': (state, { candidate }) =>
      (candidate !== null) === (state === 'rolling' || state === 'halted'),
    'people get a version from the first publication on': (state, { current }) =>
      (current !== null) === (state !== 'unpublished'),
    'the current version is never rolled out': (_, { current, candidate }) => current === null || current !== candidate,
    'a publication ends a rollout': (state, _, last) => last?.type !== 'publish' || state === 'released',
    'a halted rollout rolls on only by a rollout': (state, _, last) => last?.type !== 'halt' || state !== 'rolling',
  },
};

const tokenUntil = 1_060_000;
const isOpen = (state: string): boolean => ['listening', 'speaking', 'finishing'].includes(state);
const ending = new Set(['session.ended', 'drain', 'fault', 'leave']);

const socket: Walk<SocketEvent, SocketContext> = {
  machine: socketMachine,
  input: { tokenUntil, expiresAt: 2000 },
  final: ['closed'],
  events: [
    { type: 'open', at: early, refusal: null },
    { type: 'open', at: early, refusal: 'voice_disabled' },
    { type: 'open', at: tokenUntil, refusal: null },
    { type: 'speech', at: early, refusal: null },
    { type: 'speech', at: early, refusal: 'assistant_disabled' },
    { type: 'silence', at: early },
    { type: 'finish', at: early },
    { type: 'done', at: early },
    { type: 'session.ended', at: early },
    { type: 'tick', at: tokenUntil },
    { type: 'tick', at: due },
    { type: 'drain', at: early },
    { type: 'fault', at: early, code: 'invalid_request', close: 1008 },
    { type: 'leave', at: early },
  ],
  invariants: {
    'a reason stands in closed, and only there': (state, { reason }) => reason === null || state === 'closed',
    'a look at the deadline leaves no socket open': (state, _, last) =>
      last?.type !== 'tick' || last.at < due || !isOpen(state),
    'the end of the session, a drain, a fault and a leave leave no socket open': (state, _, last) =>
      !ending.has(last?.type ?? '') || !isOpen(state),
    'no utterance begins on an assistant that does not listen': (state, _, last) =>
      last?.type !== 'speech' || last.refusal === null || state !== 'listening',
    'a token past its time is no token': (state, _, last) =>
      (last?.type !== 'open' && last?.type !== 'tick') || last.at < tokenUntil || state !== 'minted',
  },
};

/** A clock of a minute, a refusal of half of one. */
const [said, spared, silent] = [1_000_000, 1_030_000, 1_060_000];

const visitor: Walk<VisitorEvent, VisitorContext> = {
  machine: visitorMachine,
  input: {},
  events: [
    { type: 'message', at: said, refusal: null, clockUntil: silent },
    { type: 'message', at: said, refusal: { limit: 'minutes_per_day', until: spared }, clockUntil: 0 },
    { type: 'sealed', at: said, clockUntil: silent },
    { type: 'sealed', at: said, clockUntil: said },
    { type: 'left', at: said },
    { type: 'tick', at: spared },
    { type: 'tick', at: silent },
  ],
  invariants: {
    'a refusal stands in limited, and only there': (state, { refusal }) => (refusal !== null) === (state === 'limited'),
    'an accepted message makes the visitor present': (state, _, last) =>
      last?.type !== 'message' || last.refusal !== null || state === 'present',
    'who is present has a clock that runs': (state, { clockUntil }, last) =>
      state !== 'present' || clockUntil > (last?.at ?? 0),
    'after the end of all clocks and refusals nobody is here': (state, _, last) =>
      last?.type !== 'tick' || last.at < silent || state === 'away',
    'who has left is away': (state, _, last) => last?.type !== 'left' || state === 'away',
  },
};

/** The times of a turn: now, its limit, and when an end that only the store knows has been waited for. */
const [running, limit, waited] = [1000, 2000, 3000];
const overStates = ['completed', 'aborted', 'failed', 'withdrawn'];

const turn: Walk<TurnEvent, TurnContext> = {
  machine: turnMachine,
  input: { runsUntil: limit, shared: true },
  events: [
    { type: 'output', at: running },
    { type: 'stored', at: running },
    { type: 'unstored', at: running, fault: 'store_away' },
    { type: 'ended', at: running },
    { type: 'called', at: running },
    { type: 'noted', at: running },
    { type: 'answered', at: running },
    { type: 'failed', at: running, reason: 'cut' },
    { type: 'stop', at: running, reason: 'aborted' },
    { type: 'stop', at: running, reason: 'drain' },
    { type: 'lease.lost', at: running },
    { type: 'taken', at: running, until: waited },
    { type: 'sealed', at: running },
    { type: 'unsealed', at: running, fault: 'store_away', certain: false, last: false, until: waited },
    { type: 'withdrawn', at: running, stored: true },
    { type: 'fate', at: running, end: 'aborted' },
    { type: 'fate', at: running, end: 'gone' },
    { type: 'tick', at: limit },
    { type: 'tick', at: waited },
  ],
  final: overStates,
  // Only a turn that is spoken waits for a listener.
  unreached: ['voicing', 'retrying'],
  invariants: {
    'a chat that was answered with a stream is not withdrawn': (state, context) =>
      !context.begun || (state !== 'withdrawing' && state !== 'withdrawn'),
    'a turn with stored calls is not withdrawn': (state, { called }) =>
      !called || (state !== 'withdrawing' && state !== 'withdrawn'),
    'an answering or followed turn was answered': (state, context) =>
      (state !== 'answering' && state !== 'following') || context.begun,
    'an end is being stored in sealing': (state, { ending }) => state !== 'sealing' || ending !== null,
    'a withdrawn turn has the answer of its chat': (state, { refusal }) =>
      (refusal !== null) === (state === 'withdrawing' || state === 'withdrawn'),
    'the model is not read past the time limit': (state, _, last) =>
      last?.type !== 'tick' || !['waiting', 'starting', 'answering'].includes(state),
    'a wait ends': (state, _, last) =>
      last?.type !== 'tick' || last.at < waited || (state !== 'asking' && state !== 'following'),
  },
};

const spokenTurn: Walk<TurnEvent, TurnContext> = {
  machine: turnMachine,
  input: { runsUntil: limit, shared: false, spoken: true },
  events: [
    { type: 'announced', at: running },
    { type: 'output', at: running },
    { type: 'stored', at: running },
    { type: 'ended', at: running },
    { type: 'called', at: running },
    { type: 'noted', at: running },
    { type: 'answered', at: running },
    { type: 'failed', at: running, reason: 'cut' },
    { type: 'heard', at: running },
    { type: 'cut', at: running },
    { type: 'dropped', at: running, reason: 'provider' },
    { type: 'unheard', at: running },
    { type: 'stop', at: running, reason: 'aborted' },
    { type: 'sealed', at: running },
    { type: 'withdrawn', at: running, stored: true },
    { type: 'tick', at: limit },
  ],
  final: overStates,
  unreached: ['asking', 'following', 'retrying'],
  invariants: {
    'the model is not read past the time limit': (state, _, last) =>
      last?.type !== 'tick' || !['waiting', 'starting', 'answering'].includes(state),
    'an end is being stored in sealing': (state, { ending }) => state !== 'sealing' || ending !== null,
  },
};

const turnWithFallbacks: Walk<TurnEvent, TurnContext> = {
  ...turn,
  input: { runsUntil: limit, shared: true, fallbacks: 2 },
  unreached: ['voicing'],
  invariants: {
    ...turn.invariants,
    'no other model is asked once the chat was answered': (state, { begun }) => state !== 'retrying' || !begun,
    'a model is asked at most once': (state, { fallbacks }) => state !== 'retrying' || fallbacks < 2,
    'the chat is refused for its model only when all have failed': (state, { fallbacks, refusal }, last) =>
      state !== 'withdrawing' || refusal !== 'withdrawn' || last?.type !== 'failed' || fallbacks === 0,
  },
};

const isOpenCall = (state: string): boolean => state !== 'minted' && state !== 'closed';
const replying = new Set(['thinking', 'held', 'speaking', 'paused', 'draining']);
const endsCall = new Set(['session.ended', 'replaced', 'hangup', 'leave', 'fault']);

const call: Walk<CallEvent, CallContext> = {
  machine: callMachine,
  input: { tokenUntil, expiresAt: 2000 },
  final: ['closed'],
  events: [
    { type: 'open', at: early, refusal: null, greets: false, bargeIn: 'words' },
    { type: 'voice', at: early },
    { type: 'early', at: early },
    { type: 'said', at: early, kept: true },
    { type: 'begun', at: early },
    { type: 'accepted', at: early },
    { type: 'voiced', at: early },
    { type: 'audio', at: early },
    { type: 'elsewhere', at: early, owed: true, typed: false },
    { type: 'hangup', at: early },
    { type: 'drain', at: early },
    { type: 'tick', at: due },
  ],
  invariants: {
    'a turn is under way in the states of a reply, and asked for early in hearing': (state, { turn }) =>
      turn === 'none' || replying.has(state) || (state === 'hearing' && turn === 'asked'),
    'no turn is asked for early more than three times': (_, { asked }) => asked <= 3,
    'the end of the call, its deadline and a client that leaves leave no call open': (state, _, last) =>
      !(endsCall.has(last?.type ?? '') || (last?.type === 'tick' && last.at >= due)) || !isOpenCall(state),
    'what must be decided is decided in held and paused alone': (state, { decideUntil }) =>
      decideUntil === null || state === 'held' || state === 'paused',
  },
};

const openReply = new Set(['hidden', 'announced', 'speaking', 'paused']);
const withdrawal = { type: 'withdraw', at: early, by: 'client', reports: true } as const;

const reply: Walk<ReplyEvent, ReplyContext> = {
  machine: replyMachine,
  input: { greeting: false, early: true },
  final: ['sealed', 'withdrawn', 'failed'],
  events: [
    { type: 'begun', at: early },
    { type: 'accepted', at: early },
    { type: 'announced', at: early },
    { type: 'begin', at: early },
    { type: 'pause', at: early },
    { type: 'cut', at: early, by: 'speech', closing: false },
    { type: 'fail', at: early, reports: false },
    { type: 'finish', at: early },
    { ...withdrawal, called: true, fails: true },
    { type: 'leave', at: early },
    { type: 'settled', at: early, points: 0, called: false, stopped: false },
    { type: 'settled', at: early, points: 1, called: false, stopped: false },
  ],
  invariants: {
    'a hidden reply is unknown to the client, and one that is spoken is known': (state, { announced }) =>
      state === 'hidden' ? !announced : !['announced', 'speaking', 'paused'].includes(state) || announced,
    'audio has begun in speaking': (state, { started }) => state !== 'speaking' || started,
    'an open reply has no end, and a settling one has': (state, { ending }) =>
      openReply.has(state) ? ending === null : state !== 'settling' || ending !== null,
    'a reply that is cut, failed, finished, taken back or left is not open': (state, _, last) =>
      !['cut', 'fail', 'finish', 'withdraw', 'leave'].includes(last?.type ?? '') || !openReply.has(state),
    'a position that is known settles the reply': (state, _, last) => last?.type !== 'settled' || state !== 'settling',
  },
};

/** A way through a graph that comes by no state twice, and the state at its end. */
interface Path<Event> {
  readonly way: readonly Event[];
  readonly state: any;
}

/** Finds them all in one go; the package's `getSimplePaths` looks through the whole graph again for each state. */
function simplePaths<Event extends { type: string }, Context>({
  machine,
  input,
  events,
}: Walk<Event, Context>): Path<Event>[] {
  const options = { events: events as never, input: input as never };
  const graph: Readonly<
    Record<string, { state: any; transitions: Readonly<Record<string, { event: unknown; state: any }>> }>
  > = getAdjacencyMap(machine, options) as never;
  const names = new Map<unknown, string>();
  const nameOf = (state: any): string => names.get(state) ?? names.set(state, serializeSnapshot(state)).get(state)!;
  const paths: Path<Event>[] = [];
  const along = (name: string, way: readonly Event[], passed: ReadonlySet<string>): void => {
    const { state, transitions } = graph[name]!;
    paths.push({ way, state });
    for (const { event, state: next } of Object.values(transitions)) {
      if (!passed.has(nameOf(next))) along(nameOf(next), [...way, event as Event], new Set([...passed, nameOf(next)]));
    }
  };
  const [first] = Object.keys(graph);
  along(first!, [], new Set([first!]));
  return paths;
}

function walk<Event extends { type: string }, Context>(name: string, walked: Walk<Event, Context>): void {
  const { machine, input, events, invariants, final = [], unreached = [] } = walked;
  t.test(`${name}: every simple path`, async (t) => {
    const paths = simplePaths(walked);
    const broken = new Set<string>();
    const reached = new Set<string>();
    const go = (way: readonly Event[]): { value: unknown; context: Context } => {
      const actor = createActor(machine, { input }).start();
      let before: string | undefined;
      for (const last of [undefined, ...way]) {
        if (last !== undefined) actor.send(last);
        const { value, context } = actor.getSnapshot();
        if (before !== undefined && final.includes(before) && value !== before)
          broken.add(`${before} is left for ${value} after ${JSON.stringify(last)}`);
        before = String(value);
        reached.add(before);
        for (const [sentence, holds] of Object.entries(invariants)) {
          if (!holds(before, context, last))
            broken.add(`${sentence}, but not in ${value} after ${JSON.stringify(last)}`);
        }
      }
      actor.stop();
      return actor.getSnapshot();
    };
    const ends = new Set<string>();
    for (const { way, state } of paths) {
      const { value, context } = go(way);
      if (!isDeepStrictEqual({ value, context }, { value: state.value, context: state.context }))
        broken.add(`a live actor ends elsewhere after ${JSON.stringify(way)}`);
      // State and context decide all that may follow: one of the paths with the same end is enough to continue from.
      const end = serializeSnapshot(state);
      if (!ends.has(end)) for (const further of events) go([...way, further]);
      ends.add(end);
    }
    t.strictSame([...broken], []);
    t.strictSame([...reached, ...unreached].sort(), Object.keys(machine.states).sort(), 'every state was reached');
    t.ok(paths.length > Object.keys(machine.states).length, `${paths.length} paths to ${ends.size} ends`);
  });
}

walk('session', session);
walk('attendance', attendance);
walk('key', key);
walk('workspace', workspace);
walk('run', run);
walk('assistant', assistant);
walk('release', release);
walk('socket', socket);
walk('turn', turn);
walk('spoken turn', spokenTurn);
walk('turn with fallbacks', turnWithFallbacks);
walk('call', call);
walk('reply', reply);
walk('visitor', visitor);
