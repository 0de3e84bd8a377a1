/** Faults put in on purpose, to see that the checker finds them: each stands between a process and its store. */
import { limits } from '../../src/base/limits.ts';
import type { StepName } from '../../src/store/steps.ts';
import type { AttendSession, Fence, FinishTurn, Message, ToolCall, Turn, WithdrawTurn } from '../../src/store/store.ts';
import type { Perform } from './store.ts';
import type { Mode } from './world.ts';

export interface Bug {
  /** Place where the bug shows. */
  readonly mode: Mode;
  /** The rules that it breaks; any of them may find it. */
  readonly breaks: readonly string[];
  /** Stands before the store; `given` are the step's arguments before the server's clock was put in. */
  readonly steps?: (next: Perform, call: { readonly host: string; readonly given: readonly any[] }) => Perform;
  /** A step whose answer the shared store does not remember: sent again it is taken again. */
  readonly forgets?: StepName;
  /** An append is answered before it is stored. */
  readonly answersEarly?: boolean;
  /** A process that takes a turn over sends its calls of tools again. */
  readonly reruns?: boolean;
  /** Changes the query that a process sees. */
  readonly query?: (query: string) => string;
  /** Bytes sent to a client may overtake earlier ones. */
  readonly overtakes?: boolean;
}

/** A bug in some steps; the others go their way. */
const inSteps =
  (
    changed: Readonly<
      Partial<
        Record<StepName, (next: Perform, args: readonly any[], call: { host: string; given: readonly any[] }) => any>
      >
    >,
  ): Bug['steps'] =>
  (next, call) =>
  (verb, args) =>
    changed[verb] === undefined ? next(verb, args) : changed[verb](next, args, call);

/** A turn sealed as failed, that was to be withdrawn. */
function sealed({ session, turn, ...step }: WithdrawTurn): FinishTurn {
  const failed = { stopReason: 'error', errorCode: 'api_error' } as const;
  const message = {
    id: turn.messageId,
    turnId: turn.id,
    role: 'assistant',
    content: '',
    status: 'partial',
    createdAt: turn.createdAt,
    ...failed,
  } as const;
  const stands = { ...session, messageCount: session.messageCount + 2 };
  const ended = { ...turn, status: 'failed', ...failed, endedAt: turn.createdAt } as const;
  return {
    ...step,
    session: stands,
    turn: ended,
    message,
    tail: { position: 0, text: '' },
    nowMs: turn.createdAt * 1000,
  };
}

const withoutFields = ({ opaque: _, ...call }: ToolCall): Omit<ToolCall, 'opaque'> => call;

const withoutVersion = ({ assistantVersion: _, ...turn }: Turn): Turn => turn;

const ofTurn = (turn: { id: string }): string => turn.id;

/** A take as if no turn was in flight. */
function unsilenced({ silences: _, session, ...step }: AttendSession): AttendSession {
  const { attendance } = session;
  const context = attendance && { ...(attendance.context as object), silencedTurnId: null };
  return { ...step, session: { ...session, ...(attendance && { attendance: { ...attendance, context } }) } };
}

/** Made anew for each run, since some have state. */
export const bugs: Readonly<Record<string, () => Bug>> = {
  'a withdrawal leaves no trace in the history': () => ({
    mode: 'embedded',
    breaks: ['history'],
    steps: inSteps({ withdrawTurn: (next, [{ move: _, ...step }]) => next('withdrawTurn', [step]) }),
  }),
  'the history has another event than the session': () => ({
    mode: 'shared',
    breaks: ['history'],
    steps: inSteps({
      finishTurn: (next, [step]) =>
        next('finishTurn', [{ ...step, move: { ...step.move, event: { ...step.move.event, turnId: 'turn_other' } } }]),
    }),
  }),
  'readers are shown what was not released': () => ({
    mode: 'shared',
    breaks: ['releases'],
    steps: inSteps({ beginTurn: (next, [{ released: _, ...step }]) => next('beginTurn', [step]) }),
  }),
  'a hidden turn is shown': () => ({
    mode: 'embedded',
    breaks: ['releases'],
    steps: inSteps({
      beginTurn: (next, [step]) => next('beginTurn', [step.released === -1 ? { ...step, released: 0 } : step]),
    }),
  }),
  'no fence: whoever writes to a turn is let in': () => {
    const fences = new Map<string, Fence>();
    const fenced = (turnId: string, fence: Fence): Fence => fences.get(turnId) ?? fence;
    return {
      mode: 'shared',
      breaks: ['one writer', 'once'],
      steps: inSteps({
        takeOverTurn: async (next, args) => {
          const fence = await next('takeOverTurn', args);
          if (fence !== null) fences.set(args[0].turnId, fence);
          return fence;
        },
        appendOutput: (next, [step]) => next('appendOutput', [{ ...step, fence: fenced(step.turnId, step.fence) }]),
        stepTurn: (next, [step]) => next('stepTurn', [{ ...step, fence: fenced(step.turnId, step.fence) }]),
        finishTurn: (next, [step]) => next('finishTurn', [{ ...step, fence: fenced(ofTurn(step.turn), step.fence) }]),
        renewTurn: (next, [place, fence, ...rest]) => next('renewTurn', [place, fenced(place.turnId, fence), ...rest]),
      }),
    };
  },
  'a call of a tool is sent before it is stored': () => ({
    mode: 'shared',
    breaks: ['calls'],
    steps: inSteps({
      stepTurn: async (next, [step]) =>
        step.calls.some(({ status }: { status: string }) => status === 'running') ? 'stored' : next('stepTurn', [step]),
    }),
  }),
  'no fence for calls of tools: their turn is not asked for its owner': () => ({
    mode: 'shared',
    breaks: ['one writer'],
    steps: inSteps({ stepTurn: async (next, args) => (await next('stepTurn', args), 'stored') }),
  }),
  'what a provider put on calls is lost with the end of their turn': () => ({
    mode: 'embedded',
    breaks: ['provider'],
    steps: inSteps({
      finishTurn: (next, [{ message, ...step }]) =>
        next('finishTurn', [
          {
            ...step,
            message: { ...message, ...(message.toolCalls && { toolCalls: message.toolCalls.map(withoutFields) }) },
          },
        ]),
    }),
  }),
  'whoever takes a turn over sends its calls again': () => ({ mode: 'shared', breaks: ['calls'], reruns: true }),
  'a turn is seized within its lease': () => ({
    mode: 'shared',
    breaks: ['one writer'],
    steps: inSteps({
      takeOverTurn: (next, [place, owner, untilMs]) =>
        next('takeOverTurn', [place, owner, untilMs, Number.MAX_SAFE_INTEGER]),
    }),
  }),
  'release twice: a turn that is over frees two slots': () => {
    let freed = 0;
    return {
      mode: 'shared',
      breaks: ['slots'],
      steps: inSteps({
        beginTurn: (next, [step]) =>
          next('beginTurn', [{ ...step, slot: { ...step.slot, ceiling: step.slot.ceiling + freed } }]),
        finishTurn: (next, args) => (freed++, next('finishTurn', args)),
      }),
    };
  },
  'a withdrawn turn keeps its slot': () => {
    let kept = 0;
    return {
      mode: 'embedded',
      breaks: ['slots'],
      steps: inSteps({
        beginTurn: (next, [step]) =>
          next('beginTurn', [{ ...step, slot: { ...step.slot, ceiling: step.slot.ceiling - kept } }]),
        withdrawTurn: (next, args) => (kept++, next('withdrawTurn', args)),
      }),
    };
  },
  'answer before commit, over the network': () => ({
    mode: 'shared',
    breaks: ['prefix', 'presence', 'terminal'],
    answersEarly: true,
  }),
  'answer before commit, to the disk': () => ({
    mode: 'embedded',
    breaks: ['prefix', 'presence', 'terminal', 'one order', 'one writer'],
    answersEarly: true,
  }),
  'a finish is answered and never stored': () => ({
    mode: 'embedded',
    breaks: ['presence', 'terminal', 'liveness'],
    steps: inSteps({ finishTurn: async (_, [step]) => ({ outcome: 'finished', version: step.version + 1 }) }),
  }),
  'a reply that its listener cut is sealed whole': () => ({
    mode: 'shared',
    breaks: ['presence', 'one order'],
    steps: inSteps({ finishTurn: (next, [{ cutAt: _, ...step }]) => next('finishTurn', [step]) }),
  }),
  'an end is answered and never stored': () => ({
    mode: 'shared',
    breaks: ['presence', 'one order'],
    steps: inSteps({ saveSession: async (_, [, basis]) => basis.version + 1 }),
  }),
  'a piece that is sent again is stored again': () => {
    const lengths = new Map<string, number>();
    return {
      mode: 'shared',
      breaks: ['one writer', 'prefix', 'presence', 'terminal'],
      steps: inSteps({
        appendOutput: async (next, [step]) => {
          const position = lengths.get(step.turnId) ?? 0;
          const answer = await next('appendOutput', [{ ...step, position }]);
          if (answer !== 'fenced') lengths.set(step.turnId, position + [...step.text].length);
          return answer;
        },
      }),
    };
  },
  'no comparison: a session is stored over whatever moved it': () => {
    const versions = new Map<string, number>();
    const moved = async (next: Perform, verb: StepName, [first, ...rest]: readonly any[], id: string): Promise<any> => {
      const version = versions.get(id);
      const over =
        verb === 'saveSession'
          ? [first, { version: version ?? rest[0].version }]
          : [{ ...first, version: version ?? first.version, mark: undefined }];
      const answer = await next(verb, over);
      const now = typeof answer === 'number' ? answer : answer?.version;
      if (now !== undefined) versions.set(id, now);
      return answer;
    };
    const ofSession = (verb: StepName) => (next: Perform, args: readonly any[]) =>
      moved(next, verb, args, (args[0].session ?? args[0]).id);
    return {
      mode: 'shared',
      breaks: ['one order', 'one writer', 'states'],
      steps: inSteps(
        Object.fromEntries(
          (['saveSession', 'beginTurn', 'finishTurn', 'withdrawTurn'] as const).map((verb) => [verb, ofSession(verb)]),
        ),
      ),
    };
  },
  'an Idempotency-Key is forgotten': () => ({
    mode: 'shared',
    breaks: ['idempotency'],
    steps: inSteps({
      createSession: (next, [step]) => next('createSession', [{ ...step, remember: null }]),
      beginTurn: (next, [step]) => next('beginTurn', [{ ...step, remember: null }]),
    }),
  }),
  'each process has budgets of its own': () => ({
    mode: 'shared',
    breaks: ['limits'],
    steps: inSteps({
      takeBudgets: (next, [workspaceId, keyId, ...rest], { host }) =>
        next('takeBudgets', [workspaceId, `${keyId}-${host.split('.')[0]}`, ...rest]),
    }),
  }),
  'budgets go by the clock of whoever asks': () => ({
    mode: 'shared',
    breaks: ['limits'],
    steps: inSteps({
      takeBudgets: (next, [workspaceId, keyId, budgets], { given }) =>
        next('takeBudgets', [workspaceId, keyId, budgets, given[3]]),
    }),
  }),
  'a request whose answer was lost on the way from the store is charged again': () => ({
    mode: 'shared',
    breaks: ['limits'],
    forgets: 'takeBudgets',
  }),
  'a request that is refused costs nothing': () => {
    const refused = new Map<string, any[]>();
    return {
      mode: 'embedded',
      breaks: ['limits'],
      steps: inSteps({
        takeBudgets: (next, args) => {
          const [, keyId, , nowMs] = args;
          const known = refused.get(keyId);
          if (known !== undefined && nowMs < known[1]) return known[0];
          const taken = next('takeBudgets', args);
          if (!taken.at(-1).passed) refused.set(keyId, [taken, nowMs + taken.at(-1).retryAfterSeconds * 1000]);
          return taken;
        },
      }),
    };
  },
  'a turn is counted with a token too many': () => ({
    mode: 'embedded',
    breaks: ['usage'],
    steps: inSteps({
      finishTurn: (next, [step]) =>
        next('finishTurn', [{ ...step, turn: { ...step.turn, outputTokens: step.turn.outputTokens + 1 } }]),
    }),
  }),
  'a stream goes on a character too late': () => ({
    mode: 'shared',
    breaks: ['stream', 'prefix'],
    query: (query) => query.replace(/after=(\d+)/, (_, after) => `after=${Number(after) + 1}`),
  }),
  'events overtake each other': () => ({ mode: 'embedded', breaks: ['stream'], overtakes: true }),
  'a session takes turns after its time': () => ({
    mode: 'shared',
    breaks: ['states'],
    steps: inSteps({
      session: async (next, args) => {
        const found = await next('session', args);
        const { machine } = found?.record ?? {};
        return (
          found && {
            ...found,
            record: {
              ...found.record,
              expiresAt: 1e10,
              machine: { ...machine, context: { ...machine.context, expiresAt: 1e10 } },
            },
          }
        );
      },
    }),
  }),
  'a stop that was asked for is forgotten with the process': () => ({
    mode: 'shared',
    breaks: ['stops'],
    steps: inSteps({
      takeOverTurn: async (next, args) => {
        const seized = await next('takeOverTurn', args);
        return seized && { ...seized, stop: null };
      },
    }),
  }),
  'a lease that outlives its session': () => ({
    mode: 'shared',
    breaks: ['liveness'],
    steps: inSteps({
      beginTurn: (next, [step]) => next('beginTurn', [{ ...step, leaseUntilMs: step.nowMs + limits.leaseMs }]),
    }),
  }),
  'what a dead process left is sealed though nothing was said in it': () => ({
    mode: 'shared',
    breaks: ['begun'],
    steps: inSteps({
      withdrawTurn: (next, [step]) =>
        step.fence.epoch === 1 ? next('withdrawTurn', [step]) : next('finishTurn', [sealed(step)]),
    }),
  }),
  'no turn is withdrawn: it is sealed once its lease has run out': () => ({
    mode: 'shared',
    breaks: ['refused', 'begun'],
    steps: inSteps({
      withdrawTurn: (next, [step]) =>
        step.fence.epoch === 1 ? { outcome: 'fenced' } : next('finishTurn', [sealed(step)]),
    }),
  }),
  'a turn that failed for a fault of ours is stored as aborted': () => ({
    mode: 'shared',
    breaks: ['terminal'],
    steps: inSteps({
      finishTurn: (next, [step]) => {
        const aborted = { status: 'aborted', stopReason: 'aborted', errorCode: null };
        return next('finishTurn', [
          step.turn.errorCode === 'api_error' ? { ...step, turn: { ...step.turn, ...aborted } } : step,
        ]);
      },
    }),
  }),
  'nobody may seize what a dead process left': () => ({
    mode: 'shared',
    breaks: ['liveness', 'slots', 'presence', 'terminal'],
    steps: inSteps({ takeOverTurn: async () => null }),
  }),
  'an ended session is stored as open': () => ({
    mode: 'embedded',
    breaks: ['states', 'liveness'],
    steps: inSteps({
      saveSession: (next, [session, basis]) =>
        next('saveSession', [{ ...session, machine: { ...session.machine, state: 'open' } }, basis]),
    }),
  }),
  'an event is stored as delivered, whatever its receiver has answered': () => ({
    mode: 'shared',
    breaks: ['events'],
    steps: inSteps({
      settleDelivery: (next, [step]) => next('settleDelivery', [{ ...step, status: 'delivered', nextAtMs: null }]),
    }),
  }),
  'a lease on a delivery outlives its process': () => ({
    mode: 'shared',
    breaks: ['events'],
    steps: inSteps({
      claimDeliveries: (next, [step]) => next('claimDeliveries', [{ ...step, leaseUntilMs: step.nowMs + 1e9 }]),
    }),
  }),
  'a revoked key is never heard of': () => {
    const known = new Map<string, any>();
    return {
      mode: 'shared',
      breaks: ['states'],
      steps: inSteps({
        'catalog.read': async (next, args) => {
          if (args[0] !== 'key') return next('catalog.read', args);
          const found = known.get(args[2]) ?? (await next('catalog.read', args));
          known.set(args[2], found);
          return found;
        },
      }),
    };
  },
  'a take silences no turn': () => ({
    mode: 'shared',
    breaks: ['desk'],
    steps: inSteps({ attendSession: (next, [step]) => next('attendSession', [unsilenced(step)]) }),
  }),
  'a take silences no turn where the server fails over': () => ({
    mode: 'failover',
    breaks: ['desk'],
    steps: inSteps({ attendSession: (next, [step]) => next('attendSession', [unsilenced(step)]) }),
  }),
  'a chat is admitted from an old read of who answers': () => ({
    mode: 'shared',
    breaks: ['desk'],
    steps: inSteps({
      beginTurn: async (next, [step]) => {
        const stored = await next('session', [step.session.workspaceId, step.session.id]);
        const session = { ...step.session, attendance: stored?.record.attendance };
        return next('beginTurn', [
          stored ? { ...step, session, version: stored.version, mark: stored.record.mark } : step,
        ]);
      },
    }),
  }),
  'a message that was accepted is stored nowhere': () => ({
    mode: 'embedded',
    breaks: ['desk', 'presence'],
    steps: inSteps({
      attendSession: (next, [step]) =>
        next('attendSession', [
          {
            ...step,
            messages: step.messages.map((one: Message) => (one.role === 'user' ? { ...one, content: '' } : one)),
          },
        ]),
    }),
  }),
  'a message that was accepted is not remembered under its key': () => ({
    mode: 'shared',
    breaks: ['desk', 'idempotency'],
    steps: inSteps({ attendSession: (next, [step]) => next('attendSession', [{ ...step, remember: null }]) }),
    forgets: 'attendSession',
  }),
  'a change of who answers has the number of the event before it': () => ({
    mode: 'embedded',
    breaks: ['desk'],
    steps: inSteps({
      attendSession: (next, [step]) =>
        next('attendSession', [
          { ...step, messages: step.messages.map((one: Message) => ({ ...one, sequence: one.sequence! - 1 })) },
        ]),
    }),
  }),
  'a session gets its version from a release that has changed': () => ({
    mode: 'shared',
    breaks: ['versions'],
    steps: inSteps({
      createSession: (next, [{ release: _, ...step }]) => next('createSession', [step]),
      beginTurn: (next, [{ release: _, ...step }]) => next('beginTurn', [step]),
    }),
  }),
  'a version is read as the draft': () => ({
    mode: 'embedded',
    breaks: ['versions'],
    steps: inSteps({
      'catalog.read': async (next, args) => {
        const found = await next('catalog.read', args);
        if (args[0] !== 'assistant_version' || found === null) return found;
        const draft = await next('catalog.read', ['assistant', args[1], found.record.assistantId]);
        const { model } = draft.record;
        return { ...found, record: { ...found.record, settings: { ...found.record.settings, model } } };
      },
    }),
  }),
  'a withdrawn turn counts for no rollout': () => ({
    mode: 'shared',
    breaks: ['versions'],
    steps: inSteps({
      beginTurn: (next, [{ turn, ...step }]) => next('beginTurn', [{ ...step, turn: withoutVersion(turn) }]),
    }),
  }),
};
