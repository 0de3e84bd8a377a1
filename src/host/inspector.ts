/** What watchers of the live charts receive: events as actors consume them, and which actors are live (contract 9, `/inspect`). */

export interface ActorIdentity {
  readonly kind: string;
  readonly id: string;
  readonly workspaceId: string;
}

export interface InspectedEvent {
  readonly type: 'event';
  readonly actor: ActorIdentity;
  readonly event: { readonly type: string };
  readonly from: string;
  readonly to: string;
  readonly context: unknown;
  readonly outcomes: readonly { readonly type: string }[];
}

export interface InspectedLife {
  readonly type: 'activated' | 'passivated';
  readonly actor: ActorIdentity;
  readonly state: string;
}

export type Inspected = InspectedEvent | InspectedLife;

/** Costs one comparison for each event while there is no watcher. */
export class Inspector {
  #watchers = new Set<(inspected: Inspected) => void>();

  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Calls back for every event from now on; returns a function that stops it. */
  watch(watcher: (inspected: Inspected) => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  event(
    actor: ActorIdentity,
    event: { type: string },
    from: string,
    to: string,
    context: unknown,
    outcomes: readonly { type: string }[],
  ): void {
    this.#tell({ type: 'event', actor, event, from, to, context, outcomes });
  }

  life(type: 'activated' | 'passivated', actor: ActorIdentity, state: string): void {
    if (this.watched) this.#tell({ type, actor, state });
  }

  #tell(inspected: Inspected): void {
    for (const watcher of this.#watchers) watcher(inspected);
  }
}
