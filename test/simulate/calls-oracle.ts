/** The calls of tools that the store should hold, and what waits for an answer, worked out from its steps. */
import type {
  AmendedMessage,
  BeginTurn,
  FinishTurn,
  Session,
  StepTurn,
  ToolCall,
  ToolStatus,
  WithdrawTurn,
} from '../../src/store/store.ts';
import { hasEnded } from '../../src/store/records/tools.ts';
import type { Entry, StepEntry } from './history.ts';
import type { State } from './oracle.ts';

export interface StoredCall {
  readonly turnId: string;
  readonly call: ToolCall;
}

/** A call as it was stored to be sent: by which process, and as which entry of the history. */
interface Sending {
  readonly host: string;
  readonly at: number;
}

/** The statuses that follow one another in one step; a status that is not named is final. */
const ways: Readonly<Partial<Record<ToolStatus, readonly ToolStatus[]>>> = {
  running: ['completed', 'failed', 'cancelled', 'unknown'],
  pending: ['running', 'completed', 'failed', 'declined', 'cancelled'],
};

export class CallsOracle {
  /** The steps that stored calls as running, by call. */
  readonly sending = new Map<string, Sending[]>();
  /** The turn of each call that was ever stored. */
  readonly turnOf = new Map<string, string>();
  /** The turns that answered a call when they began, by call. */
  readonly answering = new Map<string, string[]>();
  /** When each turn was sealed, as an entry of the history. */
  readonly sealed = new Map<string, number>();
  readonly #fault: (rule: string, what: string) => void;
  #state: State | null = null;
  #entry: StepEntry | null = null;
  #at = 0;

  constructor(fault: (rule: string, what: string) => void) {
    this.#fault = fault;
  }

  /** Receives each entry before the other oracles. */
  at(state: State, at: number, entry: Entry): void {
    this.#state = state;
    this.#at = at;
    this.#entry = entry.type === 'step' ? entry : null;
  }

  /** A turn has begun on a session: it answers, approves or declines all that waits, and nothing else. */
  begin({ turn, amends }: BeginTurn, before: Session | null): void {
    const ids = turn.answered?.ids ?? [];
    const waiting = before?.pending?.calls.map(({ id }) => id) ?? [];
    if (ids.join() !== waiting.join())
      this.#fault('waits', `${turn.id} answers ${ids.join()}, and there wait ${waiting.join()}`);
    for (const id of ids) this.answering.set(id, [...(this.answering.get(id) ?? []), turn.id]);
    this.amend(amends);
    for (const id of turn.answered?.approved ?? []) this.#send(id);
  }

  step({ turnId, calls, amends }: StepTurn): void {
    this.#put(turnId, calls);
    this.amend(amends);
  }

  finish({ session, turn, message, amends }: FinishTurn): void {
    this.amend(amends);
    this.#put(turn.id, message.toolCalls ?? []);
    this.sealed.set(turn.id, this.#at);
    const waiting = (message.toolCalls ?? []).filter(({ status }) => status === 'pending').map(({ id }) => id);
    const kept = session.pending?.calls.map(({ id }) => id) ?? [];
    if (kept.join() !== waiting.join())
      this.#fault('waits', `${session.id} has ${kept.join()} wait behind ${turn.id}, which has ${waiting.join()}`);
    if ((turn.stopReason === 'tool_calls') !== waiting.length > 0)
      this.#fault('waits', `${turn.id} ended by ${turn.stopReason}, and ${waiting.length} calls wait`);
  }

  /** The calls that the turn has answered wait again. */
  withdraw({ turn, amends }: WithdrawTurn): void {
    if (amends === undefined) return;
    const ids = turn.answered?.ids ?? [];
    for (const call of amends.message.toolCalls ?? []) {
      const known = this.#state!.calls.get(call.id);
      if (known !== undefined && ids.includes(call.id)) this.#state!.calls.set(call.id, { ...known, call });
    }
    this.amend(amends);
  }

  #put(turnId: string, calls: readonly ToolCall[]): void {
    const { calls: stored } = this.#state!;
    for (const call of calls) {
      const known = stored.get(call.id);
      // A step that arrives late leaves a call as it is that has ended since.
      if (this.#entry?.verb === 'stepTurn' && known !== undefined && hasEnded(known.call) && !hasEnded(call)) continue;
      if (known !== undefined && known.call.status !== call.status && !ways[known.call.status]?.includes(call.status)) {
        this.#fault('calls', `${call.id} of ${turnId} went ${known.call.status} → ${call.status}`);
      }
      stored.set(call.id, { turnId, call });
      this.turnOf.set(call.id, turnId);
      if (call.status === 'running' && known === undefined) this.#send(call.id);
    }
  }

  /** The calls of an earlier message are as it has them. */
  amend(amends: AmendedMessage | undefined): void {
    if (amends !== undefined) this.#put(amends.message.turnId!, amends.message.toolCalls ?? []);
  }

  #send(id: string): void {
    this.sending.set(id, [...(this.sending.get(id) ?? []), { host: this.#entry!.host, at: this.#at }]);
  }
}
