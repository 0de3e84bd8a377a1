/**
 * A reply of a call, from the moment at which the model is asked to the end of its turn (contract 18). The call decides
 * when a reply is spoken, held and cut (`call.ts`); this machine decides what becomes of the reply and of its turn.
 *
 * The reply is open in `hidden`, `announced`, `speaking` and `paused`. In `settling` its listener's position is being
 * found. Text and audio never pass through the machine.
 */
import { assign, emit, setup } from 'xstate';
import type { CutBy } from './dialogue.ts';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** The states in which the call can still speak the reply. */
export const openReplyStates: ReadonlySet<string> = new Set(['hidden', 'announced', 'speaking', 'paused']);
/** The states that no reply leaves. */
export const finalReplyStates: ReadonlySet<string> = new Set(['sealed', 'withdrawn', 'failed']);

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const replyVersion = versionAfter(migrations);

/**
 * Source of the listener's position at a cut: the client's answer to the cut, the estimate, the client's last report,
 * or the audio that was sent.
 */
export type Basis = 'answer' | 'estimate' | 'report' | 'sent';

export interface ReplyContext {
  /** Whether it is the greeting, which has no turn. */
  readonly greeting: boolean;
  /** Whether the model was asked before the person had finished. */
  readonly early: boolean;
  /** Whether the store was asked to begin the turn and has not answered: its answer decides about the words. */
  readonly asking: boolean;
  /** Whether the store has its turn. */
  readonly begun: boolean;
  /** Whether the client knows the reply. */
  readonly announced: boolean;
  /** Whether its first audio is at hand, or the reply has no audio. */
  readonly ready: boolean;
  /** Whether its audio has begun. */
  readonly started: boolean;
  /** Whether all of its audio was sent. */
  readonly sent: boolean;
  /** Whether its audio was played to the end. */
  readonly played: boolean;
  /** Code of its first failure. */
  readonly failing: string | null;
  /** Reason for settling; null while the reply is open. */
  readonly ending: 'cut' | 'failure' | null;
  readonly cutBy: CutBy;
  /** Whether the call was closed when the reply was cut. */
  readonly closing: boolean;
}

/** Every event has the time at which it happens, in milliseconds since the epoch. */
export type ReplyEvent =
  /** The turn can begin: earlier turns of the call have ended. */
  | { type: 'ask'; at: number }
  /** The store has the turn. */
  | { type: 'begun'; at: number }
  /** The store has the words as a message for a person of the desk, and no turn. */
  | { type: 'accepted'; at: number }
  /** The store begins no turn now. */
  | { type: 'refused'; at: number }
  /** The person has finished: the turn that was asked for early is theirs. */
  | { type: 'confirm'; at: number }
  /** Readers know the turn, or the greeting begins. */
  | { type: 'announced'; at: number }
  /** The first audio is at hand, or the reply has no audio. */
  | { type: 'ready'; at: number }
  /** The call starts, holds or releases the audio. */
  | { type: 'begin'; at: number }
  | { type: 'pause'; at: number }
  | { type: 'resume'; at: number }
  /** Make no more of the reply; the audio that was sent is still played. */
  | { type: 'stop'; at: number }
  /** All audio was sent. */
  | { type: 'sent'; at: number }
  /** The listener has heard all audio that was sent. */
  | { type: 'played'; at: number }
  /** The model or the synthesis failed. */
  | { type: 'failed'; at: number; code: string }
  /** The turn has ended or takes no more text, though the call has not ended it. */
  | { type: 'ended'; at: number }
  /** A request or the end of the session stops the turn, and asks for the listener's position. */
  | { type: 'stopped'; at: number }
  /** The call cuts the reply. `closing`: the call is closed. */
  | { type: 'cut'; at: number; by: CutBy; closing: boolean }
  /** The call ends the reply as failed. `reports`: the client reports what it plays. */
  | { type: 'fail'; at: number; reports: boolean }
  /** All of the reply was heard. */
  | { type: 'finish'; at: number }
  /**
   * The call takes the reply back. `called`: its turn has stored tool calls. `fails`: it is taken back because it failed.
   * `by`, `reports`: as in `cut` and `fail`, for a turn that stays.
   */
  | { type: 'withdraw'; at: number; called: boolean; fails: boolean; by: CutBy; reports: boolean }
  /** The call drops the reply: its turn cannot begin, or the call waits for another turn. */
  | { type: 'leave'; at: number }
  /** The listener's position is known. `stopped`: a request has ended the turn meanwhile. */
  | { type: 'settled'; at: number; points: number; called: boolean; stopped: boolean };

export type ReplyOutcome =
  | { type: 'unchanged' }
  /** Begin the turn. */
  | { type: 'turn.ask' }
  /** Let readers know the turn. */
  | { type: 'turn.announce' }
  /** The client gets to know the turn. */
  | { type: 'turn.started' }
  /** Remove all traces of the turn. `told`: the client gets a message, since it knows the turn. */
  | { type: 'turn.withdraw'; told: boolean }
  /** Seal the turn at the listener's position. */
  | { type: 'turn.cut'; by: CutBy }
  /** Report the end of a turn that a request has ended. */
  | { type: 'turn.ended' }
  /** Seal the turn: all was heard. */
  | { type: 'turn.finish' }
  /** Seal the turn as failed. */
  | { type: 'turn.fail'; code: string }
  /** The person's words begin their next message. */
  | { type: 'words.return' }
  /** The reply stays in the transcript: its characters count as usage. */
  | { type: 'usage.count' }
  /** Find the listener's position. */
  | { type: 'position.ask'; basis: Basis; by: CutBy }
  /** Audio can begin. */
  | { type: 'audio.ready' }
  | { type: 'audio.begin' }
  | { type: 'audio.pause' }
  | { type: 'audio.resume' }
  /** Make no more audio. */
  | { type: 'audio.stop' }
  /** All audio was sent. */
  | { type: 'audio.end' }
  /** All audio was played. */
  | { type: 'audio.played' }
  | { type: 'reply.failed'; code: string };

export interface NewReply {
  readonly greeting: boolean;
  readonly early: boolean;
}

/** The context of a reply that was not begun. */
export const newReply = ({ greeting, early }: NewReply): ReplyContext => ({
  greeting,
  early,
  asking: false,
  begun: false,
  announced: false,
  ready: false,
  started: false,
  sent: false,
  played: false,
  failing: null,
  ending: null,
  cutBy: 'none',
  closing: false,
});

const unchanged = { actions: 'unchanged' } as const;

/** Settling of a reply that was cut, or has failed. */
const cutting = { target: 'settling', actions: ['noteCut', 'askPosition'] } as const;
const failing = { target: 'settling', actions: ['noteFailing', 'noteFailure', 'askReported'] } as const;
const keeping = { guard: 'isGreeting', target: 'sealed', actions: 'count' } as const;

/** The reply leaves no trace, and its words begin the next message. */
const removal = [
  { guard: 'isBegun', target: 'withdrawn', actions: ['returnWords', 'withdraw'] },
  // The words may be stored for a person already.
  { guard: 'isAsking', target: 'withdrawn', actions: 'unchanged' },
  { target: 'withdrawn', actions: 'returnWords' },
] as const;

/** A turn with stored tool calls stays. */
const withdrawal = [{ guard: 'isFailedCaller', ...failing }, { guard: 'isCaller', ...cutting }, ...removal] as const;

/** The events that every open state shares. */
const whileOpen = {
  failed: { actions: ['noteFailing', 'tellFailed'] },
  ended: { actions: ['noteFailing', 'tellFailed'] },
  stop: { actions: ['noteFailing', 'stopAudio'] },
  stopped: cutting,
  cut: cutting,
  fail: failing,
  finish: { target: 'sealed', actions: ['count', 'finish'] },
  withdraw: withdrawal,
  sent: { actions: ['noteSent', 'endAudio'] },
  played: [{ guard: 'isSentNotPlayed', actions: ['notePlayed', 'tellPlayed'] }],
} as const;

const whileSpoken = { ...whileOpen, leave: [keeping, cutting] } as const;

const codeOf = (event: ReplyEvent): string =>
  event.type === 'failed' ? event.code : event.type === 'ended' ? 'api_error' : 'assistant_unavailable';

/** An answer is waited for only while the call is open. */
const basisOf = (by: CutBy, closing: boolean): Basis =>
  by === 'lost' ? (closing ? 'sent' : 'report') : closing || by === 'none' ? 'estimate' : 'answer';

/** Whether the client gets a message for a withdrawal: a failure has another message. */
const isTold = ({ ending }: ReplyContext, event: ReplyEvent): boolean =>
  event.type === 'withdraw' ? !event.fails : event.type === 'settled' && ending === 'cut';

const byOf = (event: ReplyEvent): CutBy => ('by' in event ? event.by : 'none');
const isClosing = (event: ReplyEvent): boolean => event.type === 'cut' && event.closing;

export const replyMachine = setup({
  types: typesOf<ReplyContext, ReplyEvent, ReplyOutcome, NewReply>(),
  guards: {
    isGreeting: ({ context }) => context.greeting,
    isAsking: ({ context }) => context.asking,
    isBegun: ({ context }) => context.begun,
    isNotBegun: ({ context }) => !context.begun,
    isEarly: ({ context }) => context.early,
    isReady: ({ context }) => context.ready,
    isStarted: ({ context }) => context.started,
    isNotStarted: ({ context }) => !context.started,
    isSentNotPlayed: ({ context }) => context.sent && !context.played,
    isCaller: ({ event }) => event.type === 'withdraw' && event.called,
    isFailedCaller: ({ event }) => event.type === 'withdraw' && event.called && event.fails,
    isHeardFailure: ({ context, event }) =>
      context.ending === 'failure' && context.begun && event.type === 'settled' && (event.points > 0 || event.called),
    isFailure: ({ context }) => context.ending === 'failure',
    isHidden: ({ context }) => !context.announced,
    isUnheard: ({ context: { cutBy, closing }, event }) =>
      event.type === 'settled' &&
      event.points === 0 &&
      !event.stopped &&
      !event.called &&
      !closing &&
      (cutBy === 'speech' || cutBy === 'client'),
    isStopped: ({ event }) => event.type === 'settled' && event.stopped,
  },
  actions: {
    unchanged: emit({ type: 'unchanged' }),
    ask: emit({ type: 'turn.ask' }),
    announce: emit({ type: 'turn.announce' }),
    start: emit({ type: 'turn.started' }),
    withdraw: emit(({ context, event }) => ({
      type: 'turn.withdraw' as const,
      told: context.announced && isTold(context, event),
    })),
    cut: emit(({ context }) => ({ type: 'turn.cut' as const, by: context.cutBy })),
    tellEnd: emit({ type: 'turn.ended' }),
    finish: emit({ type: 'turn.finish' }),
    fail: emit(({ context }) => ({ type: 'turn.fail' as const, code: context.failing! })),
    returnWords: emit({ type: 'words.return' }),
    count: emit({ type: 'usage.count' }),
    askPosition: emit(({ event }) => ({
      type: 'position.ask' as const,
      basis: basisOf(byOf(event), isClosing(event)),
      by: byOf(event),
    })),
    askReported: emit(({ event }) => ({
      type: 'position.ask' as const,
      basis: 'reports' in event && event.reports ? ('report' as const) : ('estimate' as const),
      by: 'none' as const,
    })),
    tellReady: emit({ type: 'audio.ready' }),
    beginAudio: emit({ type: 'audio.begin' }),
    pauseAudio: emit({ type: 'audio.pause' }),
    resumeAudio: emit({ type: 'audio.resume' }),
    stopAudio: emit({ type: 'audio.stop' }),
    endAudio: emit({ type: 'audio.end' }),
    tellPlayed: emit({ type: 'audio.played' }),
    tellFailed: emit(({ event }) => ({ type: 'reply.failed' as const, code: codeOf(event) })),
    noteAsking: assign({ asking: true }),
    noteAnswered: assign({ asking: false }),
    noteBegun: assign({ asking: false, begun: true }),
    noteConfirmed: assign({ early: false }),
    noteAnnounced: assign({ announced: true }),
    noteReady: assign({ ready: true }),
    noteStarted: assign({ started: true }),
    noteSent: assign({ sent: true }),
    notePlayed: assign({ played: true }),
    // The first failure of a reply is what it fails with.
    noteFailing: assign(({ context, event }) => ({ failing: context.failing ?? codeOf(event) })),
    noteCut: assign(({ event }) => ({ ending: 'cut' as const, cutBy: byOf(event), closing: isClosing(event) })),
    noteFailure: assign({ ending: 'failure' as const, cutBy: 'none' as const }),
  },
}).createMachine({
  id: 'reply',
  context: ({ input }) => newReply(input),
  initial: 'hidden',
  // An event that a state does not name comes too late for it, or too early.
  on: {
    ask: unchanged,
    begun: unchanged,
    accepted: unchanged,
    refused: unchanged,
    confirm: unchanged,
    announced: unchanged,
    ready: unchanged,
    begin: unchanged,
    pause: unchanged,
    resume: unchanged,
    stop: unchanged,
    sent: unchanged,
    played: unchanged,
    failed: unchanged,
    ended: unchanged,
    stopped: unchanged,
    cut: unchanged,
    fail: unchanged,
    finish: unchanged,
    withdraw: unchanged,
    leave: unchanged,
    settled: unchanged,
  },
  states: {
    hidden: {
      description: 'The model is asked, and neither the client nor a reader knows it.',
      on: {
        ...whileOpen,
        ask: [{ guard: 'isNotBegun', actions: ['noteAsking', 'ask'] }],
        begun: [{ guard: 'isEarly', actions: ['noteBegun', 'unchanged'] }, { actions: ['noteBegun', 'announce'] }],
        accepted: { target: 'withdrawn', actions: ['noteAnswered', 'unchanged'] },
        refused: { actions: ['noteAnswered', 'unchanged'] },
        confirm: [
          { guard: 'isBegun', actions: ['noteConfirmed', 'announce'] },
          { actions: ['noteConfirmed', 'noteAsking', 'ask'] },
        ],
        announced: [
          { guard: 'isGreeting', target: 'announced', actions: ['noteAnnounced', 'unchanged'] },
          { guard: 'isReady', target: 'announced', actions: ['noteAnnounced', 'start', 'tellReady'] },
          { target: 'announced', actions: ['noteAnnounced', 'start'] },
        ],
        ready: { actions: ['noteReady', 'unchanged'] },
        leave: [keeping, ...removal],
      },
    },
    announced: {
      description: 'The client knows the reply, and no audio of it was sent.',
      on: {
        ...whileOpen,
        ready: { actions: ['noteReady', 'tellReady'] },
        begin: { target: 'speaking', actions: ['noteStarted', 'beginAudio'] },
        // The person speaks over a greeting whose audio has not begun.
        pause: { target: 'paused', actions: 'pauseAudio' },
        resume: [{ guard: 'isReady', actions: 'tellReady' }],
        leave: [keeping, ...removal],
      },
    },
    speaking: {
      description: 'Its audio is sent and played.',
      on: { ...whileSpoken, pause: { target: 'paused', actions: 'pauseAudio' } },
    },
    paused: {
      description: 'Its audio is held until the words of the person decide.',
      on: {
        ...whileSpoken,
        ready: { actions: ['noteReady', 'tellReady'] },
        begin: [{ guard: 'isNotStarted', actions: ['noteStarted', 'beginAudio'] }],
        resume: [
          { guard: 'isStarted', target: 'speaking', actions: 'resumeAudio' },
          { target: 'announced', actions: 'resumeAudio' },
        ],
      },
    },
    settling: {
      description: 'It was cut or has failed, and the position of its listener is being found.',
      on: {
        begun: { actions: ['noteBegun', 'withdraw'] },
        accepted: { target: 'withdrawn', actions: ['noteAnswered', 'unchanged'] },
        refused: { actions: ['noteAnswered', 'unchanged'] },
        cut: cutting,
        fail: failing,
        finish: { target: 'sealed', actions: ['count', 'finish'] },
        withdraw: withdrawal,
        leave: { target: 'sealed', actions: 'unchanged' },
        settled: [
          { guard: 'isHeardFailure', target: 'failed', actions: ['count', 'fail'] },
          { guard: 'isFailure', target: 'withdrawn', actions: ['returnWords', 'withdraw'] },
          { guard: 'isNotBegun', target: 'withdrawn', actions: 'returnWords' },
          { guard: 'isHidden', target: 'withdrawn', actions: ['returnWords', 'withdraw'] },
          { guard: 'isUnheard', target: 'withdrawn', actions: ['returnWords', 'withdraw'] },
          { guard: 'isStopped', target: 'sealed', actions: ['count', 'tellEnd'] },
          { target: 'sealed', actions: ['count', 'cut'] },
        ],
      },
    },
    sealed: { description: 'The transcript has what was heard of it.' },
    withdrawn: {
      description: 'Nothing of it was heard, and no trace of it is left.',
      on: {
        begun: [
          { guard: 'isAsking', actions: ['noteBegun', 'returnWords', 'withdraw'] },
          { actions: ['noteBegun', 'withdraw'] },
        ],
        accepted: { actions: ['noteAnswered', 'unchanged'] },
        refused: [{ guard: 'isAsking', actions: ['noteAnswered', 'returnWords'] }, unchanged],
      },
    },
    failed: { description: 'It failed, and the transcript has what was heard of it.' },
  },
});

export const replyKind: MachineKind = { name: 'reply', machine: replyMachine, version: replyVersion, migrations };
