/** Notices within the one process that has the store open. */
import type { CatalogKind, Notice } from '../../store.ts';

export class Notices {
  readonly #listeners = new Set<(notice: Notice) => void>();

  watch(listener: (notice: Notice) => void): () => Promise<void> {
    // Each watch is its own, even of a function that watches already.
    const heard = (notice: Notice): void => listener(notice);
    this.#listeners.add(heard);
    return async () => void this.#listeners.delete(heard);
  }

  tell(notice: Notice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  changed(kind: CatalogKind, workspaceId: string, id: string): void {
    this.tell({ type: 'changed', kind, workspaceId, id });
  }
}
