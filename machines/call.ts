/**
 * A call: a spoken conversation on a session, from its token to its close (contract 18).
 *
 * `minted` is a token that no call has opened yet. The call is open in the states between `minted` and `closed`: nobody
 * speaks in `listening`, the person speaks in `hearing`. The model makes a reply in `thinking`, and its audio is sent in
 * `speaking`; in `held` and `paused` the reply waits until the person's words decide. In `busy` the session answers a
 * chat. In `draining` the process ends, and an open reply is spoken to its end. Text and audio never pass through the
 * machine. The life of a reply is decided in `reply.ts`.
 */
import { assign, emit, setup } from 'xstate';
import {
  mintedCall,
  type CallContext,
  type CallEvent,
  type CallOutcome,
  type CutBy,
  type MintedCall,
} from './dialogue.ts';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const callVersion = versionAfter(migrations);

export type { BargeIn, CallContext, CallEvent, CallOutcome, CutBy, Ignored, Utterance } from './dialogue.ts';
export { mintedCall } from './dialogue.ts';

const [normal, refused, ours, restart] = [1000, 1008, 1011, 1012];

/** Early requests to the model in one turn of the person, at most. */
const asksMax = 3;
/** Echoes after which speech over a reply is ignored. */
const echoesMax = 3;
/** Failures in a row that end the call. */
const failuresMax = 3;
const beginMs = 10_000;
/** Milliseconds added for a beginning without an answer: the refusal of a full workspace comes first. */
const answerMs = 1_000;
const sentenceMs = 30_000;
const reportMs = 10_000;
const decideMs = 1_000;
const drainMs = 30_000;
/** Milliseconds to wait for a chat's turn, which ends by itself: more than a turn takes by default. */
const busyMs = 10 * 60_000;

const isDue = (until: number | null, at: number): boolean => until !== null && at >= until;

const unchanged = { actions: 'unchanged' } as const;
const cut = (reason: CutBy) => ({ type: 'cut', params: { reason } }) as const;
const close = (code: string, closeCode: number) =>
  [
    { type: 'noteReason', params: { code } },
    { type: 'close', params: { code, close: closeCode } },
  ] as const;
const part = (why: string) => [{ type: 'noteParting', params: { why } }, 'part'] as const;
const tellFailure = (code: string) => ({ type: 'tellFailure', params: { code } }) as const;
const begin = ['noteBeginning', 'begin'] as const;
const withdraw = ['withdraw', 'clearTurn'] as const;
const cutAudio = (reason: CutBy) => ['clearAudio', cut(reason), 'clearTurn'] as const;
const drained = close('api_error', restart);
const silenced = close('voice_unavailable', ours);

/** Ends the call after its turn is sealed. */
const closing = <const Actions extends readonly unknown[]>(reason: CutBy, actions: Actions) =>
  [
    { guard: 'hasTurn', target: 'closed', actions: [cut(reason), 'clearTurn', ...actions] },
    { target: 'closed', actions },
  ] as const;

/** The ends that every open state shares. */
const whileOpen = {
  configure: { actions: ['noteOpen', 'unchanged'] },
  open: { actions: { type: 'refuse', params: { code: 'invalid_token' } } },
  'session.ended': closing('none', close('session_ended', refused)),
  replaced: closing('lost', ['noteReplaced', 'part']),
  hangup: closing('client', part('hangup')),
  leave: closing('lost', ['part']),
  fault: closing('none', ['noteFault', 'closeForFault']),
} as const;

/** The session's deadline comes before any other. */
const expiry = [
  {
    guard: 'isTurnExpired',
    target: 'closed',
    actions: [cut('none'), 'clearTurn', ...close('session_expired', refused)],
  },
  { guard: 'isExpired', target: 'closed', actions: close('session_expired', refused) },
] as const;

/** The third utterance in a row that could not be transcribed ends the call. */
const deaf = [
  { guard: 'isTurnDeaf', target: 'closed', actions: ['noteUnsaid', cut('none'), 'clearTurn', ...silenced] },
  { guard: 'isDeaf', target: 'closed', actions: ['noteUnsaid', ...silenced] },
] as const;

/** An utterance that decides nothing in this state. */
const passing = {
  said: { actions: ['noteSaid', 'unchanged'] },
  unsaid: [...deaf, { actions: ['noteUnsaid', 'unchanged'] }],
} as const;

/** The person's words become the next turn. */
const whileUnanswered = {
  ...whileOpen,
  report: { actions: ['noteReporting', 'unchanged'] },
  said: [
    { guard: 'isKept', target: 'thinking', actions: ['noteSaid', 'noteBeginning', 'announce'] },
    { guard: 'hasTurn', target: 'thinking', actions: ['noteSaid', ...withdraw, ...begin] },
    { target: 'thinking', actions: ['noteSaid', ...begin] },
  ],
  typed: [
    { guard: 'hasTurn', target: 'thinking', actions: [...withdraw, ...begin] },
    { target: 'thinking', actions: begin },
  ],
  elsewhere: { target: 'busy', actions: ['clearTurn', 'noteBusy', 'tellBusy'] },
  drain: closing('none', drained),
} as const;

/** A turn has begun, or is beginning, and no audio of it was sent. */
const whileUnspoken = {
  ...whileOpen,
  ...passing,
  words: { target: 'hearing', actions: withdraw },
  typed: { target: 'thinking', actions: [...withdraw, ...begin] },
  interrupt: { target: 'listening', actions: withdraw },
  abort: { target: 'listening', actions: [cut('api'), 'clearTurn'] },
  begun: { actions: ['noteBegun', 'start'] },
  full: [
    { guard: 'isBeginOverdue', target: 'listening', actions: [tellFailure('rate_limited'), 'clearTurn'] },
    { actions: 'begin' },
  ],
  refused: { target: 'listening', actions: ['tellEventCode', 'clearTurn'] },
  accepted: { target: 'listening', actions: ['clearTurn', 'accept'] },
  elsewhere: [
    {
      guard: 'isTyped',
      target: 'busy',
      actions: ['clearTurn', 'noteOwed', 'noteBusy', 'tellBusy', tellFailure('turn_in_progress')],
    },
    { target: 'busy', actions: ['clearTurn', 'noteOwed', 'noteBusy', 'tellBusy'] },
  ],
  failed: [
    {
      guard: 'isMute',
      target: 'closed',
      actions: ['withdraw', tellFailure('voice_unavailable'), 'clearTurn', ...silenced],
    },
    { target: 'listening', actions: ['noteFailure', 'withdraw', 'tellEventCode', 'clearTurn'] },
  ],
  sentence: { actions: ['noteSentence', 'unchanged'] },
  report: { actions: ['noteReporting', 'unchanged'] },
  drain: { target: 'draining', actions: ['noteDrain', 'tellDraining'] },
} as const;

const beginOverdue = {
  guard: 'isBeginLost',
  target: 'listening',
  actions: ['withdraw', tellFailure('api_error'), 'clearTurn'],
} as const;
const replyOverdue = {
  guard: 'isReplyOverdue',
  target: 'listening',
  actions: ['withdraw', tellFailure('assistant_unavailable'), 'clearTurn'],
} as const;
const stopOverdue = { guard: 'isReplyOverdue', actions: ['noteReplyOverdue', 'stopReply'] } as const;

/** The greeting has no turn that the end of the server would wait for. */
const greetingDrained = { target: 'closed', actions: ['clearAudio', ...drained] } as const;

/** Audio of a reply, or of the greeting, which has no turn, is spoken. */
const whileSpoken = {
  ...whileOpen,
  said: { actions: ['noteSaid', 'unchanged'] },
  words: [
    { guard: 'hasTurn', target: 'hearing', actions: cutAudio('speech') },
    { target: 'hearing', actions: ['clearAudio', 'clearTurn'] },
  ],
  typed: [
    { guard: 'hasTurn', target: 'thinking', actions: [...cutAudio('client'), ...begin] },
    { target: 'thinking', actions: ['clearAudio', 'clearTurn', ...begin] },
  ],
  interrupt: [
    { guard: 'hasTurn', target: 'listening', actions: cutAudio('client') },
    { target: 'listening', actions: ['clearAudio', 'clearTurn'] },
  ],
  abort: [{ guard: 'hasTurn', target: 'listening', actions: cutAudio('api') }],
  audio: { actions: ['noteSpeaking', 'beginAudio'] },
  sentence: { actions: ['noteSentence', 'unchanged'] },
  failed: { actions: ['noteFailure', 'noteFailing', 'stopReply'] },
  played: [
    { guard: 'isMuted', target: 'closed', actions: ['fail', 'clearTurn', ...silenced] },
    { guard: 'isFailing', target: 'listening', actions: ['fail', 'clearTurn'] },
    { target: 'listening', actions: ['noteSpoken', 'finish', 'clearTurn'] },
  ],
} as const;

const isExpired = ({ expiresAt }: CallContext, { at }: CallEvent): boolean => at >= expiresAt * 1000;
const hasTurn = ({ turn }: CallContext): boolean => turn !== 'none';
/** Whether another failure of the voice ends the call. */
const isLast = (failures: number): boolean => failures + 1 >= failuresMax;
const isDeaf = ({ unheard }: CallContext, event: CallEvent): boolean =>
  event.type === 'unsaid' && event.ignored === 'failed' && isLast(unheard);
const codeOf = (event: CallEvent): string => ('code' in event ? event.code : 'api_error');
const failures = (before: number, event: CallEvent): number =>
  codeOf(event) === 'voice_unavailable' ? Math.min(failuresMax, before + 1) : before;

export const callMachine = setup({
  types: typesOf<CallContext, CallEvent, CallOutcome, MintedCall>(),
  guards: {
    isSpoilt: ({ context, event }) => event.at >= context.tokenUntil,
    refuses: ({ event }) => event.type === 'open' && event.refusal !== null,
    greets: ({ event }) => event.type === 'open' && event.greets,
    hasTurn: ({ context }) => hasTurn(context),
    isExpired: ({ context, event }) => isExpired(context, event),
    isTurnExpired: ({ context, event }) => isExpired(context, event) && hasTurn(context),
    isDeaf: ({ context, event }) => isDeaf(context, event),
    isTurnDeaf: ({ context, event }) => isDeaf(context, event) && hasTurn(context),
    isKept: ({ context, event }) => event.type === 'said' && event.kept && context.turn === 'asked',
    mayAsk: ({ context }) => context.turn === 'none' && context.asked < asksMax,
    isAsked: ({ context }) => context.turn === 'asked',
    isBegun: ({ context }) => context.turn === 'begun',
    isTyped: ({ event }) => event.type === 'elsewhere' && event.typed,
    isOwed: ({ context }) => context.owed,
    isBeginOverdue: ({ context, event }) => context.turn === 'beginning' && isDue(context.until, event.at),
    isBeginLost: ({ context, event }) => context.turn === 'beginning' && isDue(context.until, event.at - answerMs),
    isReplyOverdue: ({ context, event }) => isDue(context.replyUntil, event.at),
    isPlayOverdue: ({ context, event }) => isDue(context.playUntil, event.at),
    isUndecided: ({ context, event }) => isDue(context.decideUntil, event.at),
    isOverdue: ({ context, event }) => isDue(context.until, event.at),
    isDrainOverdue: ({ context, event }) => isDue(context.drainUntil, event.at),
    isOff: ({ context }) => context.bargeIn === 'off',
    isMute: ({ context, event }) => codeOf(event) === 'voice_unavailable' && isLast(context.unspoken),
    isMuted: ({ context }) => context.failing === 'voice_unavailable' && context.unspoken >= failuresMax,
    isFailing: ({ context }) => context.failing !== null,
  },
  actions: {
    unchanged: emit({ type: 'unchanged' }),
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    refuseAsSaid: emit(({ event }) => ({
      type: 'refused' as const,
      code: 'refusal' in event ? (event.refusal ?? 'api_error') : 'api_error',
    })),
    opened: emit({ type: 'call.opened' }),
    greet: emit({ type: 'greeting.begin' }),
    hear: emit({ type: 'utterance.begun' }),
    endUtterance: emit({ type: 'utterance.ended' }),
    tellBusy: emit({ type: 'call.busy' }),
    tellFree: emit({ type: 'call.free' }),
    tellDraining: emit({ type: 'call.draining' }),
    hold: emit({ type: 'reply.held' }),
    resume: emit({ type: 'reply.resumed' }),
    stopReply: emit({ type: 'reply.stop' }),
    prepare: emit({ type: 'turn.prepare' }),
    announce: emit({ type: 'turn.announce' }),
    begin: emit({ type: 'turn.begin' }),
    start: emit({ type: 'turn.started' }),
    withdraw: emit({ type: 'turn.withdraw' }),
    cut: emit((_, { reason }: { reason: CutBy }) => ({ type: 'turn.cut' as const, reason })),
    finish: emit({ type: 'turn.finish' }),
    fail: emit({ type: 'turn.fail' }),
    accept: emit({ type: 'message.accepted' }),
    tellFailure: emit((_, { code }: { code: string }) => ({ type: 'turn.failed' as const, code })),
    tellEventCode: emit(({ event }) => ({
      type: 'turn.failed' as const,
      code: 'code' in event ? event.code : 'api_error',
    })),
    beginAudio: emit({ type: 'audio.begin' }),
    pauseAudio: emit({ type: 'audio.pause' }),
    resumeAudio: emit({ type: 'audio.resume' }),
    clearAudio: emit({ type: 'audio.clear' }),
    noteReplaced: assign(({ event }) => ({ reason: (event.type === 'replaced' && event.by) || 'replaced' })),
    noteParting: assign((_, { why }: { why: string }) => ({ reason: why })),
    noteReason: assign((_, { code }: { code: string }) => ({ reason: code })),
    close: emit((_, { code, close: closeCode }: { code: string; close: number }) => ({
      type: 'call.closed' as const,
      code,
      close: closeCode,
    })),
    part: emit({ type: 'call.closed', code: null, close: normal }),
    noteFault: assign(({ event }) => ({ reason: 'code' in event ? event.code : null })),
    closeForFault: emit(({ event }) => ({
      type: 'call.closed' as const,
      code: 'code' in event ? event.code : null,
      close: 'close' in event ? event.close : refused,
    })),
    noteOpen: assign(({ event }) => ('bargeIn' in event ? { bargeIn: event.bargeIn } : {})),
    noteAsked: assign(({ context }) => ({ turn: 'asked' as const, asked: context.asked + 1 })),
    noteBeginning: assign(({ event }) => ({
      turn: 'beginning' as const,
      asked: 0,
      owed: false,
      until: event.at + beginMs,
      replyUntil: null,
      failing: null,
    })),
    noteBegun: assign(({ event }) => ({ turn: 'begun' as const, until: null, replyUntil: event.at + sentenceMs })),
    clearTurn: assign({
      turn: 'none',
      until: null,
      replyUntil: null,
      playUntil: null,
      decideUntil: null,
      failing: null,
    }),
    noteSaid: assign({ unheard: 0 }),
    noteUnsaid: assign(({ context, event }) => {
      const ignored = event.type === 'unsaid' ? event.ignored : null;
      const echoes = Math.min(echoesMax, context.echoes + (ignored === 'echo' ? 1 : 0));
      return {
        echoes,
        unheard: ignored === 'failed' ? context.unheard + 1 : 0,
        bargeIn: echoes >= echoesMax ? ('off' as const) : context.bargeIn,
      };
    }),
    noteOwed: assign(({ context, event }) => ({
      owed: context.owed || event.type !== 'elsewhere' || event.owed === true,
    })),
    noteBusy: assign(({ event }) => ({ until: event.at + busyMs })),
    noteDrain: assign(({ event }) => ({ drainUntil: event.at + drainMs, decideUntil: null })),
    noteSentence: assign(({ context, event }) => ({
      replyUntil: event.type === 'sentence' && !event.last && context.failing === null ? event.at + sentenceMs : null,
    })),
    noteReplyOverdue: assign({ replyUntil: null, failing: 'assistant_unavailable' }),
    // The first failure of a reply is what it fails with.
    noteFailure: assign(({ context, event }) =>
      context.failing === null ? { unspoken: failures(context.unspoken, event) } : {},
    ),
    noteFailing: assign(({ context, event }) => ({ replyUntil: null, failing: context.failing ?? codeOf(event) })),
    noteSpoken: assign({ unspoken: 0 }),
    noteSpeaking: assign(({ context, event }) => ({
      playUntil: context.reports ? event.at + reportMs : null,
      decideUntil: null,
    })),
    notePause: assign(({ event }) => ({ playUntil: null, decideUntil: event.at + decideMs })),
    noteHold: assign(({ event }) => ({ decideUntil: event.at + decideMs })),
    noteDecided: assign({ decideUntil: null }),
    noteReporting: assign({ reports: true }),
    noteReport: assign(({ event }) => ({ reports: true, playUntil: event.at + reportMs })),
    noteDue: assign(({ context, event }) => ({
      playUntil: event.type === 'due' && event.due && context.reports ? event.at + reportMs : null,
    })),
  },
}).createMachine({
  id: 'call',
  context: ({ input }) => mintedCall(input),
  initial: 'minted',
  // An event that a state does not name comes too late for it, or too early.
  on: {
    configure: unchanged,
    voice: unchanged,
    voiced: unchanged,
    words: unchanged,
    early: unchanged,
    said: unchanged,
    unsaid: unchanged,
    typed: unchanged,
    interrupt: unchanged,
    abort: unchanged,
    begun: unchanged,
    full: unchanged,
    refused: unchanged,
    accepted: unchanged,
    elsewhere: unchanged,
    'elsewhere.over': unchanged,
    audio: unchanged,
    sentence: unchanged,
    failed: unchanged,
    report: unchanged,
    due: unchanged,
    played: unchanged,
    'session.ended': unchanged,
    replaced: unchanged,
    hangup: unchanged,
    leave: unchanged,
    fault: unchanged,
    drain: unchanged,
    tick: unchanged,
  },
  states: {
    minted: {
      description: 'A token, good for one call.',
      on: {
        open: [
          {
            guard: 'isSpoilt',
            target: 'closed',
            actions: [
              { type: 'noteReason', params: { code: 'invalid_token' } },
              { type: 'refuse', params: { code: 'invalid_token' } },
            ],
          },
          { guard: 'refuses', actions: 'refuseAsSaid' },
          { guard: 'greets', target: 'speaking', actions: ['noteOpen', 'opened', 'greet'] },
          { target: 'listening', actions: ['noteOpen', 'opened'] },
        ],
        tick: [
          {
            guard: 'isSpoilt',
            target: 'closed',
            actions: [{ type: 'noteReason', params: { code: 'invalid_token' } }, 'unchanged'],
          },
        ],
      },
    },
    listening: {
      description: 'Nobody speaks.',
      on: {
        ...whileUnanswered,
        voice: { target: 'hearing', actions: 'hear' },
        unsaid: [...deaf, { actions: ['noteUnsaid', 'unchanged'] }],
        tick: [...expiry],
      },
    },
    hearing: {
      description: 'The person speaks, or pauses; the model may be asked before they have ended.',
      on: {
        ...whileUnanswered,
        voice: [{ guard: 'isAsked', actions: withdraw }],
        early: [{ guard: 'mayAsk', actions: ['noteAsked', 'prepare'] }],
        unsaid: [
          ...deaf,
          { guard: 'hasTurn', target: 'listening', actions: ['noteUnsaid', ...withdraw, 'endUtterance'] },
          { target: 'listening', actions: ['noteUnsaid', 'endUtterance'] },
        ],
        full: { actions: ['clearTurn', 'unchanged'] },
        refused: { actions: ['clearTurn', 'unchanged'] },
        failed: [{ guard: 'isAsked', actions: withdraw }],
        tick: [...expiry],
      },
    },
    thinking: {
      description: 'A turn begins, and its first audio is awaited.',
      on: {
        ...whileUnspoken,
        voiced: { target: 'held', actions: ['noteHold', 'hold'] },
        audio: [{ guard: 'isBegun', target: 'speaking', actions: ['noteSpeaking', 'beginAudio'] }],
        tick: [...expiry, beginOverdue, replyOverdue],
      },
    },
    held: {
      description: 'The person speaks before the reply; no audio begins until their words decide.',
      on: {
        ...whileUnspoken,
        unsaid: [...deaf, { target: 'thinking', actions: ['noteUnsaid', 'noteDecided', 'resume'] }],
        tick: [
          ...expiry,
          beginOverdue,
          replyOverdue,
          { guard: 'isUndecided', target: 'thinking', actions: ['noteDecided', 'resume'] },
        ],
      },
    },
    speaking: {
      description: 'The reply or the greeting is spoken.',
      on: {
        ...whileSpoken,
        voiced: [
          { guard: 'isOff', actions: 'unchanged' },
          { target: 'paused', actions: ['notePause', 'pauseAudio'] },
        ],
        unsaid: [...deaf, { actions: ['noteUnsaid', 'unchanged'] }],
        report: { actions: ['noteReport', 'unchanged'] },
        due: { actions: ['noteDue', 'unchanged'] },
        drain: [{ guard: 'hasTurn', target: 'draining', actions: ['noteDrain', 'tellDraining'] }, greetingDrained],
        tick: [...expiry, { guard: 'isPlayOverdue', target: 'listening', actions: cutAudio('lost') }, stopOverdue],
      },
    },
    paused: {
      description: 'The person speaks over the reply, which is held until their words decide.',
      on: {
        ...whileSpoken,
        unsaid: [...deaf, { target: 'speaking', actions: ['noteUnsaid', 'noteSpeaking', 'resumeAudio'] }],
        report: { actions: ['noteReporting', 'unchanged'] },
        drain: [
          {
            guard: 'hasTurn',
            target: 'draining',
            actions: ['noteSpeaking', 'noteDrain', 'resumeAudio', 'tellDraining'],
          },
          greetingDrained,
        ],
        tick: [
          ...expiry,
          { guard: 'isUndecided', target: 'speaking', actions: ['noteSpeaking', 'resumeAudio'] },
          stopOverdue,
        ],
      },
    },
    busy: {
      description: 'The session answers a chat; the call waits for its end.',
      on: {
        ...whileOpen,
        report: { actions: ['noteReporting', 'unchanged'] },
        said: { actions: ['noteSaid', 'noteOwed', 'unchanged'] },
        unsaid: passing.unsaid,
        typed: { actions: tellFailure('turn_in_progress') },
        'elsewhere.over': [
          { guard: 'isOwed', target: 'thinking', actions: begin },
          { target: 'listening', actions: ['clearTurn', 'tellFree'] },
        ],
        drain: closing('none', drained),
        tick: [...expiry, { guard: 'isOverdue', target: 'listening', actions: ['clearTurn', 'tellFree'] }],
      },
    },
    draining: {
      description: 'The server restarts; a reply under way is spoken, and the call then ends.',
      on: {
        ...whileOpen,
        ...passing,
        typed: closing('client', ['clearAudio', ...drained]),
        interrupt: closing('client', ['clearAudio', ...drained]),
        abort: closing('api', ['clearAudio', ...drained]),
        begun: { actions: ['noteBegun', 'start'] },
        full: { target: 'closed', actions: ['clearTurn', ...drained] },
        refused: { target: 'closed', actions: ['clearTurn', ...drained] },
        accepted: { target: 'closed', actions: ['clearTurn', 'accept', ...drained] },
        elsewhere: { target: 'closed', actions: ['clearTurn', ...drained] },
        audio: { actions: ['noteSpeaking', 'beginAudio'] },
        sentence: { actions: ['noteSentence', 'unchanged'] },
        failed: { actions: ['noteFailing', 'stopReply'] },
        report: { actions: ['noteReport', 'unchanged'] },
        due: { actions: ['noteDue', 'unchanged'] },
        played: [
          { guard: 'isFailing', target: 'closed', actions: ['fail', 'clearTurn', ...drained] },
          { target: 'closed', actions: ['finish', 'clearTurn', ...drained] },
        ],
        tick: [
          ...expiry,
          { guard: 'isDrainOverdue', target: 'closed', actions: ['clearAudio', cut('none'), 'clearTurn', ...drained] },
          { guard: 'isPlayOverdue', target: 'closed', actions: [...cutAudio('lost'), ...drained] },
          stopOverdue,
        ],
      },
    },
    closed: {
      description: 'Over; its token opens no other call.',
      on: {
        open: { actions: { type: 'refuse', params: { code: 'invalid_token' } } },
      },
    },
  },
});

export const callKind: MachineKind = { name: 'call', machine: callMachine, version: callVersion, migrations };
