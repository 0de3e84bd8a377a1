/**
 * The assistants of a workspace by alias (contract 14). A workspace has few, so they are listed; the store keeps their
 * aliases apart.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { evictOldest } from '../base/evict-oldest.ts';
import { aliasKey } from '../base/link-fields.ts';
import type { Catalog } from '../store/store.ts';
import { recordsOf } from '../store/parts/catalog.ts';

interface Listed {
  readonly at: number;
  readonly ids: ReadonlyMap<string, string>;
}

export class Aliases {
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  /**
   * Lists by workspace. An alias that the last list did not have causes the next list at most once in `unknownMs`, so
   * that a client that sends many unknown ones causes few.
   */
  readonly #listed = new Map<string, Promise<Listed>>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  forgetAll(): void {
    this.#listed.clear();
  }

  /** The id of the assistant that had the alias when the workspace was last listed; null if none had it. */
  async find(workspaceId: string, alias: string): Promise<string | null> {
    const key = aliasKey(alias);
    const list = await this.#listed.get(workspaceId);
    const id = list?.ids.get(key);
    if (id !== undefined) return id;
    if (list !== undefined && this.#clock.monotonic() - list.at < limits.unknownMs) return null;
    // Requests that come meanwhile wait for the same list.
    const reading = this.#list(workspaceId);
    this.#listed.set(workspaceId, reading);
    evictOldest(this.#listed, limits.slugsKept);
    reading.catch(() => this.#listed.get(workspaceId) === reading && this.#listed.delete(workspaceId));
    return (await reading).ids.get(key) ?? null;
  }

  async #list(workspaceId: string): Promise<Listed> {
    const at = this.#clock.monotonic();
    const ids = new Map<string, string>();
    for await (const { id, alias } of recordsOf(this.#catalog, 'assistant', workspaceId))
      if (typeof alias === 'string') ids.set(aliasKey(alias), id);
    return { at, ids };
  }
}
