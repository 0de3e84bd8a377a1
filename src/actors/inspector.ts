/** Messages to watchers of the live charts: committed events, and which actors are live (contract 9, `/inspect`). */
import type { By, Cause } from '../store/store.ts';

export interface ActorIdentity {
  readonly kind: string;
  readonly id: string;
  readonly workspaceId: string;
}

/** A machine's decision on one event. */
export interface Decision<
  Event extends { readonly type: string } = { readonly type: string },
  Outcome extends { readonly type: string } = { readonly type: string },
> {
  readonly event: Event;
  readonly from: string;
  readonly to: string;
  /** The context after it. */
  readonly context: unknown;
  readonly outcomes: Outcome[];
}

export interface InspectedEvent extends Decision {
  readonly type: 'event';
  readonly actor: ActorIdentity;
  /**
   * Committed steps of the actor so far, from 1: the version of its record. An event that commits nothing has the
   * number of the step before it. A socket is not stored: it counts the events that it did not refuse.
   */
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly refused: boolean;
  readonly requestId: string | null;
  readonly by: By | null;
}

export interface InspectedLife {
  readonly type: 'activated' | 'passivated';
  readonly actor: ActorIdentity;
  readonly state: string;
  readonly context: unknown;
  readonly at: number;
}

export type Inspected = InspectedEvent | InspectedLife;

/** Whether the machine refused the event. */
export const isRefused = (outcomes: readonly { readonly type: string }[]): boolean =>
  outcomes.some(({ type }) => type === 'refused');

/** Costs one comparison for each event while there is no watcher. */
export class Inspector {
  #watchers = new Set<(inspected: Inspected) => void>();
  readonly #now: () => number;

  constructor(now: () => number = () => 0) {
    this.#now = now;
  }

  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Calls back for every event from now on; returns a function that stops it. */
  watch(watcher: (inspected: Inspected) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Called once an event can no longer be undone: after its commit, or at once if it commits nothing. */
  event(
    actor: ActorIdentity,
    { event, from, to, context, outcomes }: Decision,
    seq: number,
    { requestId, by }: Cause,
  ): void {
    if (!this.watched) return;
    const { at = this.#now() } = event as { at?: number };
    this.#tell({
      type: 'event',
      actor,
      event,
      from,
      to,
      context,
      outcomes,
      seq,
      at,
      refused: isRefused(outcomes),
      requestId,
      by,
    });
  }

  life(
    type: 'activated' | 'passivated',
    actor: ActorIdentity,
    { state, context }: { readonly state: string; readonly context: unknown },
  ): void {
    if (this.watched) this.#tell({ type, actor, state, context, at: this.#now() });
  }

  #tell(inspected: Inspected): void {
    for (const watcher of this.#watchers) watcher(inspected);
  }
}
