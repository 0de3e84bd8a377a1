/**
 * Refusals of a live actor, and its moves between states that the store does not know, such as the end of a key's debt.
 * They commit nothing, so they are kept in memory while the actor is awake, and equal ones in a row are counted
 * together.
 */
import { limits } from '../base/limits.ts';
import type { Cause } from '../store/store.ts';
import { isRefused, type Decision } from './inspector.ts';

/** Events that a machine refused, or took without a commit. */
export type Refused = Pick<Decision, 'event' | 'from' | 'to'> & {
  readonly outcomes: readonly { readonly type: string }[];
};

/** The count of equal events in a row. */
export interface RepeatedRefusal {
  /** The number of the actor's step before them. */
  readonly seq: number;
  /** Different for each row of one actor, and larger for later ones. */
  readonly order: number;
  readonly event: string;
  /** The event with its fields; null for a refusal. */
  readonly data: { readonly type: string } | null;
  readonly from: string;
  readonly to: string;
  readonly outcomes: readonly { readonly type: string }[];
  /** The time and the cause of the last equal event. */
  readonly atMs: number;
  readonly cause: Cause;
  readonly count: number;
}

export class Refusals {
  /** The newest `refusalsKept`, oldest first. */
  rows: RepeatedRefusal[] = [];
  #order = 0;

  note(seq: number, atMs: number, { event, from, to, outcomes }: Refused, cause: Cause): void {
    const last = this.rows.at(-1);
    const again =
      last?.seq === seq &&
      last.event === event.type &&
      last.from === from &&
      last.to === to &&
      last.cause.by?.id === cause.by?.id &&
      codeOf(last.outcomes) === codeOf(outcomes);
    if (again) {
      this.rows[this.rows.length - 1] = { ...last, atMs, cause, count: last.count + 1 };
      return;
    }
    if (this.rows.length === limits.refusalsKept) this.rows.shift();
    this.rows.push({
      seq,
      order: ++this.#order,
      event: event.type,
      data: isRefused(outcomes) ? null : event,
      from,
      to,
      outcomes,
      atMs,
      cause,
      count: 1,
    });
  }
}

function codeOf(outcomes: readonly { readonly type: string }[]): string | undefined {
  return (outcomes.find(({ type }) => type === 'refused') as { readonly code?: string } | undefined)?.code;
}
