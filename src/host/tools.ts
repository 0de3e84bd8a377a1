/** Tools of workspaces, cached (see `CatalogCache`). */
import { Mailbox } from '../actors/mailbox.ts';
import type { Clock } from '../base/clock.ts';
import type { OfferedFunction } from '../providers/tool.ts';
import { changeRecord } from '../store/parts/change-record.ts';
import type { AuditEntry, Catalog, Tool } from '../store/store.ts';
import { CatalogCache } from './catalog-cache.ts';

/** Tools that a process keeps. */
const toolsKeptMax = 10_000;

export class ToolRecords extends CatalogCache<'tool'> {
  /** Runs changes one at a time. */
  readonly #changes = new Mailbox();
  readonly #catalog: Pick<Catalog, 'read' | 'replace'>;

  constructor(catalog: Pick<Catalog, 'read' | 'replace'>, clock: Clock) {
    super('tool', catalog, clock, toolsKeptMax);
    this.#catalog = catalog;
  }

  /** The enabled functions of these tools, in their order; a removed and a disabled tool have none. */
  async functions(workspaceId: string, ids: readonly string[]): Promise<OfferedFunction[]> {
    const tools = await Promise.all(ids.map((id) => this.of(workspaceId, id)));
    return tools.flatMap((tool) =>
      tool === null || tool.disabled
        ? []
        : tool.functions.filter(({ enabled }) => enabled).map((each) => offeredOf(tool, each)),
    );
  }

  /**
   * Changes a tool; null from `change` leaves it as it is. Changes of this process come one at a time, and the version
   * comparison covers other processes. Resolves with the tool after that, or with null if it is unknown. Rejects with
   * `StoreUnavailable`, and with what `change` throws.
   */
  change(
    workspaceId: string,
    id: string,
    change: (before: Tool) => Tool | null | Promise<Tool | null>,
    audit?: (before: Tool, after: Tool) => AuditEntry | undefined,
  ): Promise<Tool | null> {
    return this.#changes.post(async () => {
      const tool = await changeRecord(this.#catalog, 'tool', workspaceId, id, change, audit);
      this.forget(workspaceId, id);
      return tool;
    });
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
