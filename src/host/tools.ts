/** Tools of workspaces, cached (see `CatalogCache`). */
import { isDeepStrictEqual } from 'node:util';
import { Mailbox } from '../actors/mailbox.ts';
import type { Clock } from '../base/clock.ts';
import type { OfferedFunction } from '../providers/tool.ts';
import { changeRecord } from '../store/parts/change-record.ts';
import { isDeleted } from '../store/records/tools.ts';
import type { AuditEntry, Catalog, Quarantine, Tool, ToolFunction, VersionedTool } from '../store/store.ts';
import type { AnsweringAssistant } from './versions.ts';
import { CatalogCache } from './catalog-cache.ts';

/** A function, with its quarantine as it is now. */
type OfferableFunction = Omit<ToolFunction, 'quarantined'> & { readonly quarantined?: Quarantine | undefined };

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

  /**
   * The enabled functions of the assistant's tools, in their order: as its version defines them, or as the tools are. A
   * disabled tool has none, and a deleted one has them in versions alone.
   */
  async functions({ workspaceId, toolIds = [], version }: AnsweringAssistant): Promise<OfferedFunction[]> {
    const defined = version?.tools ?? null;
    const ids = defined === null ? toolIds : defined.map(({ id }) => id);
    const tools = await Promise.all(ids.map((id) => this.of(workspaceId, id)));
    return tools.flatMap((tool, index) => {
      if (tool === null || tool.disabled) return [];
      if (defined !== null) return definedFunctions(tool, defined[index]!);
      return isDeleted(tool)
        ? []
        : tool.functions.filter(({ enabled }) => enabled).map((each) => offeredOf(tool, each));
    });
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

/** The functions of a tool as a version defines them. */
const definedFunctions = (tool: Tool, definition: VersionedTool): OfferedFunction[] =>
  definition.functions.map((each) => ({
    ...offeredOf(definition, { ...each, quarantined: quarantineOf(tool, each) }),
    definition,
  }));

/** The quarantine of a function, if the tool still has it with the same definition. */
function quarantineOf({ functions }: Tool, { name, description, parameters }: ToolFunction): Quarantine | undefined {
  const now = functions.find((one) => one.name === name);
  return now?.quarantined !== undefined &&
    isDeepStrictEqual([now.description, now.parameters], [description, parameters])
    ? now.quarantined
    : undefined;
}

const offeredOf = (
  tool: VersionedTool,
  { name, description, parameters, approval, show, quarantined }: OfferableFunction,
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
