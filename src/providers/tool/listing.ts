/** Merges the list of an MCP server with the stored functions (contract 13). */
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../base/limits.ts';
import { indexAfter } from '../../base/text.ts';
import type { ListedTool, ToolSettings } from '../tool.ts';

export interface ToolChange {
  readonly name: string;
  readonly change: 'added' | 'removed' | 'changed' | 'refused';
}

/** Returns a name that models accept; other characters become `_`. */
export const mappedName = (name: string): string => name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || '_';

/**
 * Returns the functions after a refresh. A new or changed function is switched off. A function is left out if its name
 * is taken or its schema is refused.
 */
export function refreshed(
  before: readonly ToolSettings[],
  listed: readonly ListedTool[],
): { functions: ToolSettings[]; changes: ToolChange[] } {
  const functions = new Map<string, ToolSettings>();
  const changes: ToolChange[] = [];
  for (const { name: remoteName, description: told, parameters } of listed) {
    const name = mappedName(remoteName);
    if (functions.has(name) || parameters === null) {
      changes.push({ name, change: 'refused' });
      continue;
    }
    const description = told === null ? null : told.slice(0, indexAfter(told, limits.descriptionCharactersMax));
    const fresh = { name, description, parameters, ...(remoteName !== name && { remoteName }) };
    const stored = before.find((other) => other.name === name);
    const same =
      stored !== undefined &&
      isDeepStrictEqual(
        [stored.description, stored.parameters, stored.remoteName],
        [description, parameters, fresh.remoteName],
      );
    if (same) functions.set(name, stored);
    else
      functions.set(name, { ...fresh, enabled: false, approval: stored?.approval ?? null, show: stored?.show ?? null });
    if (!same) changes.push({ name, change: stored === undefined ? 'added' : 'changed' });
  }
  for (const { name } of before) if (!functions.has(name)) changes.push({ name, change: 'removed' });
  return { functions: [...functions.values()], changes };
}
