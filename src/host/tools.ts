/**
 * Tools. They have no actor: a turn uses a cached record that is at most `catalogFreshMs` old, so that it need not read
 * the store.
 */
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { keepNewest } from '../base/newest.ts';
import { Mailbox } from '../actors/mailbox.ts';
import type { OfferedFunction } from '../providers/tool.ts';
import { StoreUnavailable, type Catalog, type Tool } from '../store/store.ts';

interface Look {
  /** Milliseconds of the monotonic clock. */
  readonly askedAt: number;
  readonly found: Promise<Tool | null>;
}

export class ToolRecords {
  /** Runs changes one at a time. */
  readonly #changes = new Mailbox();
  readonly #catalog: Catalog;
  readonly #clock: Clock;
  /** The reads of the last `catalogFreshMs`, by workspace and id, oldest first. */
  readonly #looks = new Map<string, Look>();

  constructor(catalog: Catalog, clock: Clock) {
    this.#catalog = catalog;
    this.#clock = clock;
  }

  /** The workspace's tool as the store had it at some time within the last `catalogFreshMs`; null if there is none. */
  of(workspaceId: string, id: string): Promise<Tool | null> {
    const name = `${workspaceId}/${id}`;
    const now = this.#clock.monotonic();
    const known = this.#looks.get(name);
    if (known !== undefined && now - known.askedAt < limits.catalogFreshMs) return known.found;
    const found = this.#catalog.read('tool', workspaceId, id).then((versioned) => versioned?.record ?? null);
    const look = { askedAt: now, found };
    this.#looks.delete(name);
    this.#looks.set(name, look);
    keepNewest(this.#looks, limits.toolsKeptMax);
    // After a failed read the next turn reads again.
    found.catch(() => this.#looks.get(name) === look && this.#looks.delete(name));
    return found;
  }

  /** The enabled functions of these tools, in their order; a tool that is gone has none. */
  async functions(workspaceId: string, ids: readonly string[]): Promise<OfferedFunction[]> {
    const tools = await Promise.all(ids.map((id) => this.of(workspaceId, id)));
    return tools.flatMap((tool) =>
      tool === null ? [] : tool.functions.filter(({ enabled }) => enabled).map((each) => offeredOf(tool, each)),
    );
  }

  /**
   * Changes a tool; null from `change` leaves it as it is. Changes of this process come one at a time, and the version
   * comparison covers other processes. Resolves with the tool after that, or with null if there is none. Rejects with
   * `StoreUnavailable`, and with what `change` throws.
   */
  change(
    workspaceId: string,
    id: string,
    change: (before: Tool) => Tool | null | Promise<Tool | null>,
  ): Promise<Tool | null> {
    return this.#changes.post(async () => {
      for (let attempt = 0; attempt < limits.decisionAttemptsMax; attempt++) {
        const found = await this.#catalog.read('tool', workspaceId, id);
        if (found === null) return null;
        const tool = await change(found.record);
        if (tool === null) return found.record;
        if ((await this.#catalog.replace('tool', tool, found.version)) === null) continue;
        this.forget(workspaceId, id);
        return tool;
      }
      throw new StoreUnavailable(`a tool changed concurrently ${limits.decisionAttemptsMax} times`);
    });
  }

  /** Drops cached reads, so that the next turn reads the store again: of one tool, or of all. */
  forget(workspaceId?: string, id?: string): void {
    if (workspaceId === undefined || id === undefined) this.#looks.clear();
    else this.#looks.delete(`${workspaceId}/${id}`);
  }
}

const offeredOf = (
  tool: Tool,
  { name, description, parameters, approval, show, quarantined }: Tool['functions'][number],
): OfferedFunction => ({
  toolId: tool.id,
  kind: tool.kind,
  name,
  description,
  parameters,
  approval: approval ?? tool.approval,
  show: show ?? tool.show,
  ...(quarantined && { quarantined }),
});
