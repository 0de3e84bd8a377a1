/** Answers with the draft of an assistant, and the check of the draft that a change is based on (contract 20). */
import { isExpected } from '../../base/etag.ts';
import { Failure } from '../../base/errors.ts';
import { draftDigest, toolsOf, type ReadTool } from '../../host/draft.ts';
import { isUnversioned } from '../../host/versions.ts';
import { candidateView, consoleAssistantView } from '../../conversation/views.ts';
import type { Assistant, Catalog } from '../../store/store.ts';
import type { Reply } from '../request.ts';
import type { ConsoleRequest } from './common.ts';

/** Reads tools of a workspace from the store, each once. */
export function toolReader({ services }: Pick<ConsoleRequest, 'services'>, workspaceId: string): ReadTool {
  const reads = new Map<string, ReturnType<ReadTool>>();
  const read = async (id: string) => (await services.store.catalog.read('tool', workspaceId, id))?.record ?? null;
  return (id) => {
    const begun = reads.get(id) ?? read(id);
    reads.set(id, begun);
    return begun;
  };
}

export async function draftedView(record: Assistant, read: ReadTool, catalog: Pick<Catalog, 'releaseCounts'>) {
  const digest = draftDigest(record, await toolsOf(record, read));
  const changed = !isUnversioned(record) && record.release?.digest !== digest;
  const candidate = candidateView(record);
  const { turns, failedTurns } = candidate
    ? (await catalog.releaseCounts(record.workspaceId, record.id)).candidate
    : { turns: 0, failedTurns: 0 };
  return {
    ...consoleAssistantView(record),
    draft: { digest, changed },
    candidate: candidate && { ...candidate, turns, failed_turns: failedTurns },
  };
}

/** The answer with an assistant: its tag is the digest of its draft. */
export async function assistantReply(record: Assistant, request: ConsoleRequest, status = 200): Promise<Reply> {
  const { catalog } = request.services.store;
  const view = await draftedView(record, toolReader(request, record.workspaceId), catalog);
  return { status, headers: { etag: tagOf(view.draft.digest) }, json: view };
}

/**
 * Returns the check that a change of an assistant makes within its step: it throws 409 `draft_changed` if the draft is
 * not the one that `If-Match` names.
 */
export const draftCheck =
  ({ head }: Pick<ConsoleRequest<unknown, unknown>, 'head'>) =>
  (digest: string): void => {
    if (!isExpected(head, tagOf(digest))) throw new Failure('draft_changed');
  };

const tagOf = (digest: string): string => `"${digest}"`;
