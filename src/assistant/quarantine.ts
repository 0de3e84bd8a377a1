/**
 * Quarantine of functions whose definitions a provider refuses (contract 13): they are not offered to it any more, and
 * the operator is notified.
 */
import { isDeepStrictEqual } from 'node:util';
import { secondsOf } from '../base/clock.ts';
import type { OfferTaken } from '../providers/model.ts';
import type { OfferedFunction } from '../providers/tool.ts';
import type { Quarantine, Tool, ToolFunction } from '../store/store.ts';
import type { AssistantServices } from './services.ts';

export interface Offer {
  readonly workspaceId: string;
  /** The provider's name in the console. */
  readonly provider: string;
  readonly offered: readonly OfferedFunction[];
  readonly taken: OfferTaken;
}

/** Stores what the provider refuses now, or takes again. Mostly nothing has changed; the store is then not asked. */
export function noteOffered(
  { workspaceId, provider, offered, taken }: Offer,
  services: Pick<AssistantServices, 'host' | 'log' | 'clock'>,
): void {
  const { host, log, clock } = services;
  const changed = offered.filter((one) => isNewlyRefused(one, taken) || isTakenAgain(one, taken));
  if (changed.length === 0) return;
  const at = secondsOf(clock.now());
  const warn = (name: string, toolId: string | null): void =>
    log.warn(
      { workspace_id: workspaceId, tool_id: toolId, function: name, provider },
      'A provider refuses the definition of a function. The function is no longer offered to it.',
    );
  for (const { name, toolId } of changed) if (toolId === null && taken.refused.includes(name)) warn(name, null);
  for (const toolId of new Set(changed.map((one) => one.toolId))) {
    if (toolId === null) continue;
    const ofTool = changed.filter((one) => one.toolId === toolId);
    let marked: string[] = [];
    const change = (tool: Tool): Tool | null => {
      const functions = tool.functions.map((one) =>
        markedAs(one, ofTool, taken, { at, provider, origin: taken.origin }),
      );
      marked = functions
        .filter((one, index) => one !== tool.functions[index] && one.quarantined !== undefined)
        .map(({ name }) => name);
      return functions.every((one, index) => one === tool.functions[index]) ? null : { ...tool, functions };
    };
    host.tools.change(workspaceId, toolId, change).then(
      () => marked.forEach((name) => warn(name, toolId)),
      (error: unknown) =>
        log.warn({ err: error, tool_id: toolId }, 'The quarantine of a function could not be stored.'),
    );
  }
}

const isNewlyRefused = ({ name, quarantined }: OfferedFunction, { origin, refused }: OfferTaken): boolean =>
  refused.includes(name) && quarantined?.origin !== origin;

const isTakenAgain = ({ name, quarantined }: OfferedFunction, { origin, withheld }: OfferTaken): boolean =>
  quarantined?.origin === origin && !withheld.has(name);

/** The function as it is stored after that: as it was where its definition is not the one that was offered. */
function markedAs(
  stored: ToolFunction,
  changed: readonly OfferedFunction[],
  taken: OfferTaken,
  mark: Quarantine,
): ToolFunction {
  const offered = changed.find(({ name }) => name === stored.name);
  if (
    offered === undefined ||
    !isDeepStrictEqual([stored.description, stored.parameters], [offered.description, offered.parameters])
  )
    return stored;
  if (isNewlyRefused({ ...offered, quarantined: stored.quarantined }, taken)) return { ...stored, quarantined: mark };
  if (!isTakenAgain({ ...offered, quarantined: stored.quarantined }, taken)) return stored;
  const { quarantined: _, ...free } = stored;
  return free;
}
