/**
 * A turn: a message and its reply (contract 6), from the request to the model to the stored end. Pieces of text never
 * pass through the machine: they are logged, stored and sent beside it.
 *
 * `waiting` and `retrying` (another model is asked, contract 19) have no output; `starting` has output that is not stored
 * yet, and drops it if a fallback model is asked; in `answering` the chat has been answered with a stream. `sealing`
 * stores the end and `withdrawing` removes all traces. If another process owns the turn, only the store knows its end:
 * `asking` before the chat was answered, `following` after that. The other states are final.
 *
 * A round of the model may end in tool calls (contract 13): in `calling` they are stored together, then sent, and the
 * model gets the next request once each has a stored result. A turn with a stored tool call is never withdrawn. If some
 * of them wait for the caller, the turn ends with them.
 *
 * The reply of a spoken turn (contract 18) is stored and read as it is heard. Its model may have ended long before:
 * then the turn is in `voicing`. Its listener, the call, decides when and where the reply ends.
 */
import { assign, emit, setup } from 'xstate';
import type { ChatRefusal, TurnEnding, TurnEvent, TurnOutcome } from './events.ts';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

export type * from './events.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [
  ({ state, context }) => ({ state, context: { ...(context as object), spoken: false } }),
  ({ state, context }) => ({ state, context: { ...(context as object), called: false } }),
  ({ state, context }) => ({ state, context: { ...(context as object), fallbacks: 0 } }),
  // Version 5 has the end `taken`, which version 4 cannot replay.
  (stored) => stored,
];
export const turnVersion = versionAfter(migrations);

/** The endings that leave a completed turn. */
export const completions: ReadonlySet<TurnEnding> = new Set(['completed', 'length', 'content_filter', 'tool_calls']);

export interface TurnContext {
  /** The end of the turn's time, in milliseconds since the epoch. */
  readonly runsUntil: number;
  /** Whether several processes share the store: then a step without an answer may have been applied. */
  readonly shared: boolean;
  /** Whether a call speaks its reply. */
  readonly spoken: boolean;
  /** Whether the chat was answered with a stream, or the call has announced the turn. */
  readonly begun: boolean;
  /** Whether tool calls are stored. */
  readonly called: boolean;
  /** Models that are left for a failure before any output. */
  readonly fallbacks: number;
  /**
   * The end that is being stored; null before. In `voicing`, the reason why the spoken answer is incomplete; null if it
   * is complete.
   */
  readonly ending: TurnEnding | null;
  /** Whether only the stored output is sealed: the rest was lost with a failed step. */
  readonly asStored: boolean;
  /** Whether the store refused to renew its lease; reported once its end is stored. */
  readonly fenced: boolean;
  /** The refusal that answers the chat once the turn is withdrawn; null for a turn that is not. */
  readonly refusal: ChatRefusal | null;
  /**
   * The time at which the chat and the readers stop waiting for an end that only the store knows; null while nobody
   * waits for one.
   */
  readonly waitUntil: number | null;
}

export interface NewTurn {
  readonly runsUntil: number;
  readonly shared: boolean;
  /** False and 0 if they are left out. */
  readonly spoken?: boolean;
  readonly fallbacks?: number;
}

/** The context of a new turn. */
export const begunTurn = ({ runsUntil, shared, spoken = false, fallbacks = 0 }: NewTurn): TurnContext => ({
  runsUntil,
  shared,
  spoken,
  begun: false,
  called: false,
  fallbacks,
  ending: null,
  asStored: false,
  fenced: false,
  refusal: null,
  waitUntil: null,
});

const refuse = (reason: ChatRefusal) => ({ type: 'refuse', params: { reason } }) as const;
const report = (reason: string) => ({ type: 'report', params: { reason } }) as const;
const seal = (reason: TurnEnding) =>
  [
    { type: 'noteEnding', params: { reason } },
    { type: 'seal', params: { reason } },
  ] as const;
const withdraw = (reason: ChatRefusal) => [{ type: 'noteRefusal', params: { reason } }, 'withdraw'] as const;

/** The chat is refused at once: it does not wait for the withdrawal. */
const giveUp = [refuse('unavailable'), ...withdraw('unavailable')] as const;
const unchanged = { actions: 'unchanged' } as const;
const outOfTime = ['cancel', report('time_limit')] as const;
const begin = ['noteBegun', 'begin'] as const;
const nextModel = ['reportProvider', 'noteFallback', 'askNext'] as const;
/** The end is stored. */
const end = ['leave', 'settle', 'endReaders', ...begin] as const;
const follow = ['noteWait', 'follow'] as const;
const ask = { target: 'asking', actions: ['cancel', ...follow] } as const;
/** The stops of a turn whose end is stored in any case. */
const requested = [
  { guard: 'isExpiry', target: 'sealing', actions: ['cancel', ...seal('expired')] },
  { guard: 'isTake', target: 'sealing', actions: ['cancel', 'noteAsStored', ...seal('taken')] },
  { target: 'sealing', actions: ['cancel', ...seal('aborted')] },
] as const;

/** The states in which the chat waits for its answer. */
const whileUnanswered = {
  'lease.lost': { target: 'withdrawing', actions: ['cancel', report('lease_lost'), ...giveUp] },
  fenced: ask,
  taken: ask,
} as const;

/** A turn that was requested early is hidden. */
const untold = { guard: 'isHidden', target: 'withdrawing', actions: ['cancel', ...withdraw('withdrawn')] } as const;
const stopped = [
  untold,
  { guard: 'isDrain', target: 'sealing', actions: ['cancel', report('drain'), ...seal('ours')] },
  ...requested,
] as const;

const replyOver = (reason: 'completed' | 'provider' | 'ours') => ({ type: 'tellReply', params: { reason } }) as const;

/** The ends that the listener of a spoken turn decides. */
const whileListenedTo = {
  announced: { actions: [...begin] },
  heard: [
    { guard: 'wasCut', target: 'sealing', actions: ['cancel', 'sealAgain'] },
    { target: 'sealing', actions: ['cancel', ...seal('completed')] },
  ],
  cut: { target: 'sealing', actions: ['cancel', ...seal('aborted')] },
  dropped: [
    { guard: 'isOurs', target: 'sealing', actions: ['cancel', ...seal('ours')] },
    { guard: 'isVoice', target: 'sealing', actions: ['cancel', ...seal('voice')] },
    { target: 'sealing', actions: ['cancel', ...seal('provider')] },
  ],
  unheard: [
    { guard: 'hasCalled', target: 'sealing', actions: ['cancel', ...seal('aborted')] },
    { target: 'withdrawing', actions: ['cancel', ...withdraw('withdrawn')] },
  ],
} as const;

/** The states in which the model answers. */
const whileAnswering = {
  ...whileListenedTo,
  ended: [
    { guard: 'isSpokenCut', target: 'voicing', actions: ['noteCut', replyOver('completed')] },
    { guard: 'isSpoken', target: 'voicing', actions: replyOver('completed') },
    { guard: 'isCut', target: 'sealing', actions: ['noteCut', 'sealCut'] },
    { target: 'sealing', actions: [...seal('completed')] },
  ],
  failed: [
    { guard: 'isSpoken', target: 'voicing', actions: ['reportProvider', replyOver('provider')] },
    { target: 'sealing', actions: ['reportProvider', ...seal('provider')] },
  ],
  // A turn sends no tool call before the person has finished.
  called: [
    { guard: 'isHidden', target: 'calling', actions: 'unchanged' },
    { target: 'calling', actions: 'store' },
  ],
  overflow: [
    { guard: 'isSpoken', target: 'voicing', actions: ['cancel', report('output_limit'), replyOver('ours')] },
    { target: 'sealing', actions: ['cancel', report('output_limit'), ...seal('ours')] },
  ],
  stop: stopped,
  tick: [
    { guard: 'isSpokenOverdue', target: 'voicing', actions: [...outOfTime, replyOver('ours')] },
    { guard: 'isOverdue', target: 'sealing', actions: [...outOfTime, ...seal('ours')] },
    unchanged,
  ],
} as const;

/** The states in which a model is asked and nothing is said yet. */
const whileSilent = {
  ...whileUnanswered,
  output: { target: 'starting', actions: 'append' },
  ...whileListenedTo,
  ended: whileAnswering.ended,
  called: whileAnswering.called,
  failed: [
    { guard: 'hasFallback', target: 'retrying', actions: [...nextModel] },
    whileAnswering.failed[0],
    { target: 'withdrawing', actions: ['reportProvider', ...withdraw('withdrawn')] },
  ],
  fault: { target: 'withdrawing', actions: ['reportFault', ...withdraw('unavailable')] },
  stop: [
    untold,
    { guard: 'isDrain', target: 'withdrawing', actions: ['cancel', report('drain'), ...withdraw('unavailable')] },
    ...requested,
  ],
  tick: [
    whileAnswering.tick[0],
    { guard: 'isOverdue', target: 'withdrawing', actions: [...outOfTime, ...withdraw('late')] },
    unchanged,
  ],
} as const;

/** The states in which readers know of the turn and its end is not being stored. */
const whileBegun = {
  // Readers do not wait for a store that has certainly not taken the text: they get the end, and what is stored is
  // sealed once the store is back.
  unstored: [
    {
      guard: 'isAlone',
      target: 'sealing',
      actions: ['cancel', 'reportFault', 'noteAsStored', 'endReaders', 'unsettle', ...seal('ours')],
    },
    { target: 'sealing', actions: ['cancel', 'reportFault', 'noteAsStored', ...seal('ours')] },
  ],
  'lease.lost': { target: 'sealing', actions: ['cancel', report('lease_lost'), ...seal('ours')] },
  fenced: { target: 'sealing', actions: ['cancel', 'noteFenced', ...seal('ours')] },
  taken: { target: 'following', actions: ['cancel', 'leave', 'unsettle', ...follow] },
} as const;

export const turnMachine = setup({
  types: typesOf<TurnContext, TurnEvent, TurnOutcome, NewTurn>(),
  guards: {
    isOverdue: ({ context, event }) => event.at >= context.runsUntil,
    hasCalled: ({ context }) => context.called,
    hasFallback: ({ context, event }) => context.fallbacks > 0 && event.type === 'failed' && !event.said,
    isUnbegunDrain: ({ context, event }) => !context.begun && event.type === 'stop' && event.reason === 'drain',
    isUnbegunOverdue: ({ context, event }) => !context.begun && event.at >= context.runsUntil,
    isHidden: ({ context }) => context.spoken && !context.begun,
    isSpoken: ({ context }) => context.spoken,
    isCut: ({ event }) => event.type === 'ended' && event.cut !== undefined,
    isSpokenCut: ({ context, event }) => context.spoken && event.type === 'ended' && event.cut !== undefined,
    wasCut: ({ context }) => context.ending !== null,
    isSpokenOverdue: ({ context, event }) => context.spoken && event.at >= context.runsUntil,
    isOurs: ({ event }) => event.type === 'dropped' && event.reason === 'ours',
    isVoice: ({ event }) => event.type === 'dropped' && event.reason === 'voice',
    waitIsOver: ({ context, event }) => context.waitUntil !== null && event.at >= context.waitUntil,
    isBegun: ({ context }) => context.begun,
    isUnbegun: ({ context }) => !context.begun,
    isAlone: ({ context }) => !context.shared,
    isDrain: ({ event }) => event.type === 'stop' && event.reason === 'drain',
    isExpiry: ({ event }) => event.type === 'stop' && event.reason === 'expired',
    isTake: ({ event }) => event.type === 'stop' && event.reason === 'taken',
    isCompleted: ({ context }) => completions.has(context.ending!),
    isAborted: ({ context }) => context.ending === 'aborted' || context.ending === 'taken',
    isFenced: ({ context }) => context.fenced,
    isLastAlone: ({ context, event }) => event.type === 'unsealed' && event.last && !context.shared,
    isLast: ({ event }) => event.type === 'unsealed' && event.last,
    isCertain: ({ event }) => event.type === 'unsealed' && event.certain,
    isAway: ({ event }) => event.type === 'unsealed' && event.fault === 'store_away',
    isDone: ({ event }) => event.type === 'withdrawn' && event.stored,
    wasCompleted: ({ event }) => event.type === 'fate' && event.end === 'completed',
    wasAborted: ({ event }) => event.type === 'fate' && event.end === 'aborted',
    hasExpired: ({ event }) => event.type === 'fate' && event.end === 'expired',
    isUnknown: ({ event }) => event.type === 'fate' && event.end === 'unknown',
  },
  actions: {
    unchanged: emit({ type: 'unchanged' }),
    append: emit({ type: 'append' }),
    seal: emit((_, { reason }: { reason: TurnEnding }) => ({ type: 'seal' as const, reason })),
    sealAgain: emit(({ context }) => ({ type: 'seal' as const, reason: context.ending! })),
    sealCut: emit(({ event }) => ({
      type: 'seal' as const,
      reason: 'cut' in event ? event.cut! : ('completed' as const),
    })),
    withdraw: emit({ type: 'withdraw' }),
    follow: emit({ type: 'follow' }),
    store: emit({ type: 'calls.store' }),
    send: emit({ type: 'calls.send' }),
    ask: emit({ type: 'model.ask' }),
    askNext: emit({ type: 'model.next' }),
    noteFallback: assign(({ context }) => ({ fallbacks: context.fallbacks - 1 })),
    noteCalled: assign({ called: true }),
    noteCut: assign(({ event }) => ({ ending: event.type === 'ended' ? event.cut! : null })),
    cancel: emit({ type: 'model.cancel' }),
    begin: emit({ type: 'chat.begun' }),
    tellReply: emit((_, { reason }: { reason: 'completed' | 'provider' | 'ours' }) => ({
      type: 'reply.over' as const,
      reason,
    })),
    refuse: emit((_, { reason }: { reason: ChatRefusal }) => ({ type: 'chat.refused' as const, reason })),
    refuseAsNoted: emit(({ context }) => ({ type: 'chat.refused' as const, reason: context.refusal! })),
    leave: emit({ type: 'turn.left' }),
    endReaders: emit({ type: 'readers.end' }),
    cutReaders: emit({ type: 'readers.cut' }),
    settle: emit({ type: 'settled' }),
    unsettle: emit({ type: 'unsettled' }),
    reportProvider: emit(({ event }) => ({
      type: 'provider.failed' as const,
      reason: 'reason' in event ? event.reason : '',
    })),
    report: emit((_, { reason }: { reason: string }) => ({ type: 'faulted' as const, reason })),
    reportFault: emit(({ event }) => ({ type: 'faulted' as const, reason: 'fault' in event ? event.fault : 'error' })),
    noteBegun: assign({ begun: true }),
    noteEnding: assign((_, { reason }: { reason: TurnEnding }) => ({ ending: reason })),
    noteAsStored: assign({ asStored: true }),
    noteFenced: assign({ fenced: true }),
    noteRefusal: assign((_, { reason }: { reason: ChatRefusal }) => ({ refusal: reason })),
    noteWait: assign(({ event }) => ({ waitUntil: 'until' in event ? event.until : null })),
    // Readers do not wait for an end that is sent again and again.
    keepWait: assign(({ context, event }) => ({
      waitUntil: context.waitUntil ?? ('until' in event ? event.until : null),
    })),
    endWait: assign({ waitUntil: null }),
  },
}).createMachine({
  id: 'turn',
  context: ({ input }) => begunTurn(input),
  initial: 'waiting',
  // An event that a state does not name comes too late or too early for it.
  on: {
    output: unchanged,
    stored: unchanged,
    unstored: unchanged,
    ended: unchanged,
    called: unchanged,
    noted: unchanged,
    answered: unchanged,
    awaited: unchanged,
    failed: unchanged,
    overflow: unchanged,
    stop: unchanged,
    fault: unchanged,
    announced: unchanged,
    heard: unchanged,
    cut: unchanged,
    dropped: unchanged,
    unheard: unchanged,
    'lease.lost': unchanged,
    fenced: unchanged,
    taken: unchanged,
    sealed: unchanged,
    silenced: unchanged,
    unsealed: unchanged,
    withdrawn: unchanged,
    fate: unchanged,
    tick: unchanged,
  },
  states: {
    waiting: { description: 'The model has said nothing yet; a failure leaves nothing behind.', on: whileSilent },
    retrying: { description: 'A model has failed before any output was stored; the next is asked.', on: whileSilent },
    starting: {
      description: 'The first output is being stored; nobody sees it before that.',
      on: {
        ...whileUnanswered,
        ...whileAnswering,
        failed: [{ guard: 'hasFallback', target: 'retrying', actions: [...nextModel] }, ...whileAnswering.failed],
        stored: { target: 'answering', actions: [...begin] },
        unstored: { target: 'withdrawing', actions: ['cancel', 'reportFault', ...giveUp] },
      },
    },
    answering: {
      description: 'Output is stored and sent as it comes.',
      on: {
        ...whileAnswering,
        ...whileBegun,
        // The model could not be asked again.
        fault: [
          { guard: 'isSpoken', target: 'voicing', actions: ['reportFault', replyOver('ours')] },
          { target: 'sealing', actions: ['reportFault', ...seal('ours')] },
        ],
      },
    },
    calling: {
      description: 'Calls of tools are stored, then sent; their results are stored as they come.',
      on: {
        ...whileListenedTo,
        announced: { actions: [...begin, 'store'] },
        stored: [{ guard: 'isBegun', actions: 'unchanged' }, { actions: [...begin] }],
        noted: [{ guard: 'isBegun', actions: ['noteCalled', 'send'] }, { actions: ['noteCalled', ...begin, 'send'] }],
        // The calls are stored before any is sent.
        answered: [
          { guard: 'isUnbegun', actions: 'unchanged' },
          { target: 'answering', actions: 'ask' },
        ],
        awaited: [
          { guard: 'isUnbegun', actions: 'unchanged' },
          { target: 'sealing', actions: [...seal('tool_calls')] },
        ],
        // The last round has ended.
        ended: whileAnswering.ended,
        unstored: [
          { guard: 'isUnbegun', target: 'withdrawing', actions: ['cancel', 'reportFault', ...giveUp] },
          ...whileBegun.unstored,
        ],
        'lease.lost': [{ ...whileUnanswered['lease.lost'], guard: 'isUnbegun' }, whileBegun['lease.lost']],
        fenced: [{ ...ask, guard: 'isUnbegun' }, whileBegun.fenced],
        taken: [{ ...ask, guard: 'isUnbegun' }, whileBegun.taken],
        stop: [
          untold,
          {
            guard: 'isUnbegunDrain',
            target: 'withdrawing',
            actions: ['cancel', report('drain'), ...withdraw('unavailable')],
          },
          ...stopped.slice(1),
        ],
        tick: [
          whileAnswering.tick[0],
          { guard: 'isUnbegunOverdue', target: 'withdrawing', actions: [...outOfTime, ...withdraw('late')] },
          ...whileAnswering.tick.slice(1),
        ],
      },
    },
    voicing: {
      description: 'The model has ended; the text waits for its listener.',
      on: {
        ...whileListenedTo,
        stop: stopped,
        unstored: whileBegun.unstored,
        'lease.lost': [{ ...whileUnanswered['lease.lost'], guard: 'isUnbegun' }, whileBegun['lease.lost']],
        fenced: [{ ...ask, guard: 'isUnbegun' }, whileBegun.fenced],
        taken: [{ ...ask, guard: 'isUnbegun' }, whileBegun.taken],
      },
    },
    sealing: {
      description: 'The end is being stored, until the store answers.',
      on: {
        stored: [{ guard: 'isBegun', actions: 'unchanged' }, { actions: [...begin] }],
        unstored: [
          { guard: 'isBegun', actions: 'unchanged' },
          { target: 'withdrawing', actions: ['reportFault', ...giveUp] },
        ],
        sealed: [
          { guard: 'isCompleted', target: 'completed', actions: [...end] },
          { guard: 'isAborted', target: 'aborted', actions: [...end] },
          { guard: 'isFenced', target: 'failed', actions: [report('lease_lost'), ...end] },
          { target: 'failed', actions: [...end] },
        ],
        silenced: { target: 'aborted', actions: [{ type: 'noteEnding', params: { reason: 'taken' } }, ...end] },
        // The store may have applied the end: the same end is sent again, and readers get none. Once the store
        // certainly has not, the turn fails.
        unsealed: [
          { guard: 'isUnbegun', target: 'withdrawing', actions: ['reportFault', ...giveUp] },
          { guard: 'isLastAlone', target: 'failed', actions: ['reportFault', 'unsettle', 'endReaders', 'leave'] },
          { guard: 'isLast', target: 'failed', actions: ['reportFault', 'leave', 'unsettle', 'cutReaders'] },
          { guard: 'isAlone', actions: ['reportFault', 'noteAsStored', 'unsettle', 'endReaders', ...seal('ours')] },
          { guard: 'isCertain', actions: ['reportFault', 'noteAsStored', 'keepWait', 'unsettle', ...seal('ours')] },
          { guard: 'isAway', actions: ['keepWait', 'unsettle', 'sealAgain'] },
          { actions: ['reportFault', 'keepWait', 'unsettle', 'sealAgain'] },
        ],
        taken: [
          { guard: 'isBegun', target: 'following', actions: ['leave', 'unsettle', ...follow] },
          { target: 'asking', actions: [...follow] },
        ],
        tick: [{ guard: 'waitIsOver', actions: ['endWait', 'cutReaders'] }, unchanged],
      },
    },
    withdrawing: {
      description: 'All traces are being removed; its chat gets an error.',
      on: {
        withdrawn: [
          { guard: 'isDone', target: 'withdrawn', actions: ['leave', 'settle', 'endReaders', 'refuseAsNoted'] },
          { target: 'withdrawn', actions: ['leave', 'unsettle', 'endReaders', refuse('unavailable')] },
        ],
      },
    },
    asking: {
      description: 'Taken over elsewhere; the chat waits to hear how the turn ends.',
      on: {
        // The store took the first output under this turn's own fence: its end is stored as if the lease were not
        // renewed.
        stored: { target: 'sealing', actions: [...begin, 'endWait', 'noteFenced', ...seal('ours')] },
        unstored: { target: 'withdrawing', actions: ['reportFault', ...giveUp] },
        // An end by request was answered, and stays. A chat that gets an error leaves nothing behind.
        fate: [
          { guard: 'wasAborted', target: 'aborted', actions: [...end] },
          { guard: 'hasExpired', target: 'failed', actions: [...end] },
          { target: 'withdrawing', actions: [report('fence_lost'), ...giveUp] },
        ],
        tick: [{ guard: 'waitIsOver', target: 'withdrawing', actions: [report('fence_lost'), ...giveUp] }, unchanged],
      },
    },
    following: {
      description: 'Taken over elsewhere; readers wait to hear how the turn ends.',
      on: {
        // An end by request is no fault, whichever process has sealed it.
        fate: [
          { guard: 'wasAborted', target: 'aborted', actions: 'endReaders' },
          { guard: 'hasExpired', target: 'failed', actions: 'endReaders' },
          { guard: 'wasCompleted', target: 'completed', actions: [report('fence_lost'), 'endReaders'] },
          { guard: 'isUnknown', target: 'failed', actions: [report('fence_lost'), 'cutReaders'] },
          { target: 'failed', actions: [report('fence_lost'), 'endReaders'] },
        ],
        tick: [{ guard: 'waitIsOver', target: 'failed', actions: [report('fence_lost'), 'cutReaders'] }, unchanged],
      },
    },
    completed: { description: 'The reply is stored whole.' },
    aborted: { description: 'Stopped on request; what is stored is the reply.' },
    failed: { description: 'Ended by a failure; what is stored is the reply.' },
    withdrawn: { description: 'Failed before its first output; nothing is left of it.' },
  },
});

export const turnKind: MachineKind = { name: 'turn', machine: turnMachine, version: turnVersion, migrations };
