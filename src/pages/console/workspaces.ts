/** The workspaces of the installation, which the shell's switcher and the pages' first step need. */
import { signal } from '@preact/signals';
import { ApiFailure, ask, patiently } from './api.ts';
import type { List, Workspace } from './types.ts';

export const workspaces = signal<readonly Workspace[] | null>(null);
export const workspacesFailure = signal<ApiFailure | null>(null);

/** Reads all of them; there are few. */
export async function readWorkspaces(): Promise<readonly Workspace[]> {
  const all: Workspace[] = [];
  try {
    let after: string | null = null;
    do {
      const page: List<Workspace> = await patiently(
        () => ask<List<Workspace>>(`/workspaces?order=asc&limit=100${after === null ? '' : `&after=${after}`}`),
        new AbortController().signal,
      );
      all.push(...page.data);
      after = page.next_cursor;
    } while (after !== null);
    workspacesFailure.value = null;
    workspaces.value = all;
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    workspacesFailure.value = error;
  }
  return all;
}

export const firstWorkspace = async (): Promise<string | null> =>
  ((workspaces.peek()?.length ?? 0) > 0 ? workspaces.peek()! : await readWorkspaces())[0]?.id ?? null;
