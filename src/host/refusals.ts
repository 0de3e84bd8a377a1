/** The refusals of a live actor. They commit nothing, so they are kept in memory, while the actor is awake, and equal ones in a row are counted together. */
import { limits } from '../limits.ts';
import type { Cause } from '../store.ts';
import type { Decision } from './inspector.ts';

/** What a machine refused. */
export type Refused = Pick<Decision, 'event' | 'from' | 'to'> & { readonly outcomes: readonly { readonly type: string }[] };

/** Equal refusals in a row. */
export interface Refusal {
  /** The number of the actor's step before them. */
  readonly seq: number;
  /** Different for each row of one actor, and larger for later ones. */
  readonly order: number;
  readonly event: string;
  readonly from: string;
  readonly to: string;
  readonly outcomes: readonly { readonly type: string }[];
  /** The time and the cause of the last of them. */
  readonly atMs: number;
  readonly cause: Cause;
  readonly count: number;
}

export class Refusals {
  /** The newest `refusalsKept`, oldest first. */
  rows: Refusal[] = [];
  #order = 0;

  note(seq: number, atMs: number, { event, from, to, outcomes }: Refused, cause: Cause): void {
    const last = this.rows.at(-1);
    const again = last?.seq === seq && last.event === event.type && last.from === from && last.to === to && last.cause.by?.id === cause.by?.id && codeOf(last.outcomes) === codeOf(outcomes);
    if (again) {
      this.rows[this.rows.length - 1] = { ...last!, atMs, cause, count: last!.count + 1 };
      return;
    }
    if (this.rows.length === limits.refusalsKept) this.rows.shift();
    this.rows.push({ seq, order: ++this.#order, event: event.type, from, to, outcomes, atMs, cause, count: 1 });
  }
}

function codeOf(outcomes: readonly { readonly type: string }[]): string | undefined {
  return (outcomes.find(({ type }) => type === 'refused') as { readonly code?: string } | undefined)?.code;
}
