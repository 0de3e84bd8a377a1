/** Notices within the one process that has the store open. */
import type { CatalogKind, Notice, TurnPlace } from '../store.ts';

export class Notices {
  readonly #listeners = new Set<(notice: Notice) => void>();
  /** Turns whose next move must be notified. */
  readonly #awaited = new Set<string>();

  watch(listener: (notice: Notice) => void): () => Promise<void> {
    // Each watch is separate, even if the function watches already.
    const heard = (notice: Notice): void => listener(notice);
    this.#listeners.add(heard);
    return async () => void this.#listeners.delete(heard);
  }

  send(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  /** A reader has read all stored output of the turn and waits for more. */
  awaitMove({ turnId }: TurnPlace): void {
    this.#awaited.add(turnId);
  }

  sendMoved({ workspaceId, sessionId, turnId }: TurnPlace): void {
    if (this.#awaited.delete(turnId)) this.send({ type: 'turn.moved', workspaceId, sessionId, turnId });
  }

  sendChanged(kind: CatalogKind, workspaceId: string, id: string): void {
    this.send({ type: 'changed', kind, workspaceId, id });
  }
}
