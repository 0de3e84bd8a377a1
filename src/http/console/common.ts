/** Functions that the console's handlers share. */
import { secondsOf } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { OperatorCaller, Reply, Request } from '../request.ts';
import type { CatalogKind, CatalogRecords, Cause, Workspace } from '../../store/store.ts';

export type ConsoleRequest<Query = unknown, Body = unknown> = Request<OperatorCaller, Query, Body>;

/** The error table has no code for the console's own records: such a path gets 404. */
export const nowhere = (): Failure => new Failure('route_not_found');

export const nowSeconds = ({ services }: ConsoleRequest): number => secondsOf(services.clock.now());

/** Returns the cause of a step that the request makes. */
export const causeByOperator = (
  { requestId, caller }: Pick<ConsoleRequest, 'requestId' | 'caller'>,
  audit?: Cause['audit'],
): Cause => ({
  requestId,
  by: caller.by,
  ...(audit !== undefined && { audit }),
});

/** The workspace of the path. */
export async function reachWorkspace({
  params,
  services,
}: Pick<ConsoleRequest, 'params' | 'services'>): Promise<Workspace> {
  const actor = await services.host.workspaces.of(params.w);
  if (actor === null) throw nowhere();
  return actor.record;
}

/** The assistant of the path, in its workspace. */
export async function reachPathAssistant({
  params,
  services,
}: Pick<ConsoleRequest, 'params' | 'services'>): Promise<AssistantActor> {
  const { id: workspaceId } = await reachWorkspace({ params, services });
  return present(await services.host.assistants.of(workspaceId, params.id), new Failure('assistant_not_found'));
}

/** A list of the workspace's records of a kind. */
export async function listRecords<K extends CatalogKind>(
  request: ConsoleRequest<PageFields>,
  kind: K,
  view: (record: CatalogRecords[K]) => unknown,
): Promise<Reply> {
  const workspaceId = kind === 'workspace' ? '' : (await reachWorkspace(request)).id;
  return list(
    pageRequest(request.query, 'desc'),
    (page) => request.services.store.catalog.list(kind, workspaceId, page),
    view,
  );
}

/** Unwraps the result of a change or a look-up. */
export function present<T>(found: T | null, failure: Failure = nowhere()): T {
  if (found === null) throw failure;
  return found;
}

export const noContent: Reply = { status: 204, empty: true };
