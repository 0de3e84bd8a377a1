/**
 * The part of a store that keeps turns: from the begin to the end or the withdrawal, with their output, leases and
 * slots.
 */
import type {
  AuditEntry,
  Feedback,
  IdempotencyRecord,
  Message,
  Move,
  ReleaseBasis,
  Session,
  SettledLimit,
  ToolCall,
  Turn,
} from '../records.ts';
import type { AskedLimit, TakenLimit } from './limits.ts';
import type { Basis } from './sessions.ts';

export interface TurnPlace {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
}

/**
 * Proof that a process owns a turn. A turn begins with epoch 1. Both parts must match: after a failover the store may
 * give the same epoch again.
 */
export interface Fence {
  readonly epoch: number;
  readonly owner: string;
}

/** Reason for which a process other than the owner wants a turn to stop. */
export type StopRequest = 'aborted' | 'expired' | 'taken';

/**
 * The fence of the process that took a turn over. `stop`: the reason of an earlier request to stop the turn, or null.
 */
export interface TakenOver extends Fence {
  readonly stop: StopRequest | null;
}

/**
 * One of the workspace's slots of a name. Each name has separate slots, and at most `ceiling` of them are taken at a
 * time.
 */
export interface Slot {
  /** `api` for the API's turns. */
  readonly name: string;
  readonly ceiling: number;
}

/** An earlier message of the session, as it is after the step: results of its calls came, or were taken back. */
export interface AmendedMessage {
  readonly index: number;
  readonly message: Message;
}

export interface BeginTurn extends Basis {
  /** The session after the step; its `messageCount` already counts both messages. */
  readonly session: Session;
  readonly turn: Turn;
  /** Null for a turn that answers results of calls. */
  readonly userMessage: Message | null;
  readonly amends?: AmendedMessage | undefined;
  /** The slot that the turn takes until it ends or its lease runs out; null if it takes none. */
  readonly slot: Slot | null;
  readonly owner: string;
  /** Limits that the turn takes, all or none; looked at after the slot. */
  readonly asked?: readonly AskedLimit[];
  /** When the owner's lease on the turn and its slot runs out. */
  readonly leaseUntilMs: number;
  /** The request, to be remembered; if an earlier one under its key is, the step begins nothing. */
  readonly remember: IdempotencyRecord | null;
  /** A second memory, by which the turn is found; no earlier one is looked for, and it outlasts a withdrawal. */
  readonly found?: IdempotencyRecord | undefined;
  /** The release that gave the turn its version; absent for a trial. */
  readonly release?: ReleaseBasis | undefined;
  readonly nowMs: number;
  /**
   * For a turn whose listener releases its text: how many code points of it readers may see; -1 hides the turn, with
   * the person's message, from the transcript and from `outputAfter`. Without it they see all that is stored.
   */
  readonly released?: number | undefined;
  /** The step's entry in the session's history. */
  readonly move?: Move;
  /** The step's row in the audit; it outlasts a withdrawal. */
  readonly audit?: AuditEntry;
}

export type BegunTurn =
  | { outcome: 'begun'; version: number; fence: Fence }
  // an earlier request under the key; looked at before everything else
  | { outcome: 'remembered'; remembered: IdempotencyRecord }
  | { outcome: 'lost' } // another writer moved the session
  | { outcome: 'outdated' } // the versions that people get have changed since the decision
  | { outcome: 'full' } // every slot of the name is taken
  | { outcome: 'limited'; answers: TakenLimit[] }; // a limit refuses: the answer of each, in order

export interface AppendOutput {
  readonly workspaceId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly fence: Fence;
  /** Code points stored before this piece. A piece at a position that is stored already changes nothing. */
  readonly position: number;
  readonly text: string;
  /** If given, the append also renews the lease as `renew` does: until `leaseUntilMs`, and `nowMs` is the time now. */
  readonly leaseUntilMs?: number;
  readonly nowMs?: number;
}

/** The answer to an append. `{ stop }`: the text was stored, and the turn was requested to stop for this reason. */
export type AppendResult = 'stored' | 'fenced' | { readonly stop: StopRequest };

/** Calls of tools, each with its place among the turn's calls. */
export interface StepTurn extends TurnPlace {
  readonly fence: Fence;
  /**
   * The place of the first one among the turn's calls: at most their number, or the step rejects with a `RangeError`.
   */
  readonly from: number;
  /**
   * Stored together. A call that has ended replaces what is stored; one that is still open does not: the step may
   * arrive late, after the step of its result.
   */
  readonly calls: readonly ToolCall[];
  /** Not stored if an earlier step of the turn has amended the message with more results, for the same reason. */
  readonly amends?: AmendedMessage | undefined;
}

export type Released = 'released' | 'fenced';

export type Renewed = 'renewed' | 'fenced' | { readonly stop: StopRequest };

export interface FinishTurn extends Basis {
  /** The session after the step. */
  readonly session: Session;
  readonly turn: Turn;
  /**
   * The assistant's message as it will be stored; the store fills `content` with the turn's output: all of it, or what
   * `cutAt` leaves.
   */
  readonly message: Message;
  /** Output that is not stored yet, and the number of code points stored before it. */
  readonly tail: { readonly position: number; readonly text: string };
  /**
   * For a reply whose listener cut it: the turn is sealed with the first `cutAt` code points of the stored output and
   * the tail, and the rest is gone with this step, as if it had never been stored. A whole number from 0; without it
   * all output is sealed. The step rejects with a `RangeError` and changes nothing if the output is shorter, because a
   * failover lost text that the listener has heard: the owner sends that text in the tail, or a smaller number. Sent
   * again with another number, the step is answered as before and the text stays as it was cut first.
   */
  readonly cutAt?: number;
  readonly amends?: AmendedMessage | undefined;
  readonly settled?: readonly SettledLimit[];
  readonly fence: Fence;
  readonly nowMs: number;
  /** The step's entry in the session's history. */
  readonly move?: Move;
  /** The step's row in the audit, if a person has aborted the turn. */
  readonly audit?: AuditEntry;
}

export type Finished = { outcome: 'finished'; version: number } | { outcome: 'lost' } | { outcome: 'fenced' };

export interface WithdrawTurn extends Basis {
  /** The session after the step, without the turn. */
  readonly session: Session;
  /** The turn as it was read last. If the turn was finished after that read (`endedAt`), the step answers `lost`. */
  readonly turn: Turn;
  /**
   * The owner's fence. For a turn that has not begun: the fence that `begin` will give it. For a finished turn: the
   * fence that it was finished under.
   */
  readonly fence: Fence;
  /**
   * The scope and key that the turn's request is remembered under. Needed for a finished turn only: a turn in flight
   * stores them itself.
   */
  readonly remember?: Pick<IdempotencyRecord, 'scope' | 'key'> | null;
  readonly amends?: AmendedMessage | undefined;
  readonly settled?: readonly SettledLimit[];
  /** Needed with `settled`, and for a turn of a version. */
  readonly nowMs?: number;
  /** The step's entry in the session's history. */
  readonly move?: Move;
}

/** Feedback on a finished turn. */
export interface RateTurn {
  readonly session: Session;
  /** The turn as it was read. */
  readonly turn: Turn;
  /** Null removes it. */
  readonly feedback: Feedback | null;
}

/** A turn and its text behind a position, both read at the same moment. */
export interface OutputAfter {
  readonly turn: Turn;
  /**
   * Null if the stored text does not reach the position: a failover lost the text in between, or the turn was sealed at
   * an earlier one (`FinishTurn.cutAt`).
   */
  readonly text: string | null;
  /** All tool calls of the turn; absent if empty. */
  readonly calls?: readonly ToolCall[];
}

export interface TurnStore {
  /**
   * Stores the session, the turn, both messages, the workspace's slot, the limits and the remembered request, all or
   * none. A lost answer: the process withdraws the turn; if the process dies, the next process that finds the turn
   * after its lease has run out withdraws it.
   */
  begin(step: BeginTurn): Promise<BegunTurn>;
  /**
   * Resolves once the text is stored: only then may a reader see it. A lost answer: if it was the first piece, the turn
   * is withdrawn, because its chat gets 503; a later piece is retried as long as the lease allows, and after that is
   * sent with the end of the turn.
   */
  append(step: AppendOutput): Promise<AppendResult>;
  /**
   * Prolongs the owner's lease on a turn and its slot. A lease that has run out is renewed if no other process has
   * taken the turn over and its slot is still free; otherwise the owner has lost it. A lost answer: the lease counts as
   * not renewed, and the owner retries.
   */
  renew(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number): Promise<Renewed>;
  /**
   * Lets readers see the first `points` code points of a turn that was begun with `released`; text among them that is
   * not stored yet is seen once it is stored. A smaller number than before changes nothing, and neither does a turn
   * without `released`. The whole text is visible after the turn's end. A lost answer: readers may see the text; a
   * repeat changes nothing more. A failover may lose it.
   */
  release(place: TurnPlace, fence: Fence, points: number): Promise<Released>;
  /**
   * Stores calls of tools before they are sent, and their results before anybody hears of them (contract 13). Resolves
   * with the reason of a request to stop the turn, if there is one. The turn's end replaces them by those in its
   * message. A lost answer: the calls are not sent, and a repeat stores the same.
   */
  step(step: StepTurn): Promise<AppendResult>;
  /**
   * Requests that a turn stops. Its owner gets the request with its next append or renewal, and as a notice. The first
   * reason is kept. The rest of the lease is cut to `leaseUntilMs`, so that a turn whose owner has died need not wait
   * for all of it. Resolves with whether the turn is in flight. `audit`: the row in the audit of the first request. A
   * lost answer: the turn may stop although the caller got 503; a repeat finds the request stored.
   */
  requestStop(
    place: TurnPlace,
    reason: StopRequest,
    leaseUntilMs: number,
    nowMs: number,
    audit?: AuditEntry,
  ): Promise<boolean>;
  /**
   * Seals the output into the transcript, frees the slot, counts the usage and moves the session. The turn is counted for
   * its version, and the rule of a rollout may halt it with the step (contract 20). A lost answer: the
   * same end is sent again until the store answers, and readers see it only then; if the chat has not begun, the turn
   * is withdrawn instead.
   */
  finish(step: FinishTurn): Promise<Finished>;
  /**
   * Undoes a turn whose chat was answered with a failure: removes its messages, its slot, its usage, its remembered
   * request and its stored output. A finished turn is withdrawn only under the fence that it was finished under; the
   * session may have continued since. For a turn that has not begun, the step moves the session if it still stands at
   * `Basis`, so that a beginning that arrives later is rejected. A lost answer: the process reads the session and sends
   * the step again until nothing is left. If the process dies, the next process that finds the turn withdraws it if it
   * has no output and seals it otherwise: no process knows any more how its chat was answered.
   */
  withdraw(step: WithdrawTurn): Promise<Finished>;
  /**
   * Keeps a finished turn from being withdrawn, because a request that joined the turn is about to be answered with it.
   * False if the turn does not exist or is not finished. A lost answer: the turn may be kept although the request got
   * 503; a repeat finds it kept.
   */
  claim(place: TurnPlace): Promise<boolean>;
  /**
   * Stores the feedback on a finished turn, or removes it, and counts the rating in the usage of the second in which the
   * turn ended; a trial counts nothing. Feedback that was there before is replaced. The turn is kept from being
   * withdrawn. False if the turn does not exist or is not finished. A lost answer: the feedback may be stored although
   * the caller got 503; a repeat stores the same.
   */
  rate(step: RateTurn): Promise<boolean>;
  /**
   * Takes over a turn whose lease has run out: resolves with the new fence, or null if the lease still runs or the
   * turn has ended. A lost answer: a repeat with the same `leaseUntilMs` gets the same answer; otherwise the turn is
   * found again when that lease has run out.
   */
  takeOver(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number): Promise<TakenOver | null>;
  /**
   * Turns whose lease has run out. If another process cut the lease or gave it for less than `leaseMs`, and that notice
   * is lost, the turn may come up to `leaseMs` late.
   */
  orphans(nowMs: number, limit: number): Promise<TurnPlace[]>;
  read(workspaceId: string, sessionId: string, turnId: string): Promise<Turn | null>;
  /** The text of a turn stored so far, finished or not. */
  output(place: TurnPlace): Promise<string>;
  /** The calls of a turn in flight; empty for any other. */
  calls(place: TurnPlace): Promise<readonly ToolCall[]>;
  /**
   * The turn, and its stored text behind the first `position` code points; null if there is no such turn. Reads no more
   * than that text. If the turn was cut, a reader at the cut gets the empty text, and one beyond it null, never text
   * that the cut took. If a turn in flight has no text there yet, the store sends one notice `turn.moved` for its next
   * piece, its next step or its end.
   */
  outputAfter(place: TurnPlace, position: number): Promise<OutputAfter | null>;
  /** Number of the workspace's `api` slots that are taken. */
  inFlight(workspaceId: string): Promise<number>;
}
