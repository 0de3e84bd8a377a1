/**
 * Credentials. They have no actor: a turn uses a cached record that is at most `catalogFreshMs` old, so that it need
 * not read the store.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { keepNewest } from '../base/newest.ts';
import type { Catalog, Credential } from '../store/store.ts';
import { Mailbox } from '../actors/mailbox.ts';

interface Look {
  /** Milliseconds of the monotonic clock. */
  readonly askedAt: number;
  readonly found: Promise<Credential | null>;
}

export class Credentials {
  /** Runs changes one at a time. */
  readonly changes = new Mailbox();
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  /** The reads of the last `catalogFreshMs`, by workspace and id, oldest first. */
  readonly #looks = new Map<string, Look>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /**
   * The workspace's credential as the store had it at some time within the last `catalogFreshMs`; null if there is
   * none.
   */
  of(workspaceId: string, id: string): Promise<Credential | null> {
    const name = nameOf(workspaceId, id);
    const now = this.#clock.monotonic();
    const known = this.#looks.get(name);
    if (known !== undefined && now - known.askedAt < limits.catalogFreshMs) return known.found;
    const found = this.#catalog.read('credential', workspaceId, id).then((versioned) => versioned?.record ?? null);
    const look = { askedAt: now, found };
    this.#looks.delete(name);
    this.#looks.set(name, look);
    keepNewest(this.#looks, limits.credentialsKeptMax);
    // After a failed read the next turn reads again.
    found.catch(() => this.#looks.get(name) === look && this.#looks.delete(name));
    return found;
  }

  /**
   * Drops cached reads, so that the next turn reads the store again: for one credential, for all of a workspace, or for
   * any.
   */
  forget(workspaceId?: string, id?: string): void {
    if (workspaceId === undefined) this.#looks.clear();
    else if (id !== undefined) this.#looks.delete(nameOf(workspaceId, id));
    else
      for (const name of [...this.#looks.keys()])
        if (name.startsWith(nameOf(workspaceId, ''))) this.#looks.delete(name);
  }
}

const nameOf = (workspaceId: string, id: string): string => `${workspaceId}/${id}`;
