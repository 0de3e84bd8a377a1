/** Broken stores: the memory store with some of its steps replaced. */
import type { Steps } from '../../../src/store/steps.ts';
import type { Fence, Store, TurnPlace } from '../../../src/store/store.ts';

const reader = (place: TurnPlace) => `${place.sessionId}/${place.turnId}`;

/** Remembers the newest fence of each turn, for stores that let anybody in. */
export function fences(store: Store): Partial<Steps> & { of(place: TurnPlace): Fence | undefined } {
  const known = new Map<string, Fence>();
  return {
    of: (place) => known.get(reader(place)),
    async beginTurn(step) {
      const answer = await store.turns.begin(step);
      if (answer.outcome === 'begun')
        known.set(reader({ workspaceId: '', sessionId: step.session.id, turnId: step.turn.id }), answer.fence);
      return answer;
    },
    async takeOverTurn(place, owner, leaseUntilMs, nowMs) {
      const fence = await store.turns.takeOver(place, owner, leaseUntilMs, nowMs);
      if (fence !== null) known.set(reader(place), fence);
      return fence;
    },
  };
}

/** Stores by the fault that each has. */
export type BrokenStores = Readonly<Record<string, (sound: Store) => Partial<Steps>>>;
