/** The people who sign in to the console, and their roles (contract 22). */
import { mayWorkDesk, operatorPerson } from '../../access/people.ts';
import { Failure } from '../../base/errors.ts';
import { ownerOfAll, reaches, type Grant } from '../../base/roles.ts';
import { listOfAll, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { releaseSessionsOf } from '../../conversation/desk.ts';
import type { Services } from '../../conversation/services.ts';
import type { Cause, PersonRecord } from '../../store/store.ts';
import type { ConsolePersonView, PatchPersonBody } from '../../wire/wire.ts';
import { audited, auditedSteps } from './audit.ts';
import { causeByOperator, nowhere, type ConsoleRequest } from './common.ts';

const personView = (person: PersonRecord): ConsolePersonView => ({
  object: 'person',
  id: person.id,
  name: person.name,
  role: person.role,
  workspace_id: person.onlyWorkspaceId,
  source: person.source,
  blocked: person.blocked,
  last_seen_at: person.lastSeenAt,
});

/** The holders of the operator token, as one person. */
const operatorView = (lastSeenAt: number | null): ConsolePersonView => ({
  object: 'person',
  ...operatorPerson,
  role: ownerOfAll.role,
  workspace_id: ownerOfAll.workspaceId,
  source: 'token',
  blocked: false,
  last_seen_at: lastSeenAt,
});

/** Lists the people that the caller's grant reaches, the newest first. The operator comes last. */
export async function listPeople({ caller, query, services }: ConsoleRequest<PageFields>): Promise<Reply> {
  const people = (await services.signIns.everybody())
    .filter(({ onlyWorkspaceId }) => reaches(caller.grant, onlyWorkspaceId))
    .map(personView);
  if (!reaches(caller.grant, null)) return listOfAll(people.reverse(), query, 'desc', (each) => each);
  const operators = (await services.signIns.list()).filter(({ person }) => person.id === operatorPerson.id);
  const seenAt = operators.length === 0 ? null : Math.max(...operators.map(({ lastSeenAt }) => lastSeenAt));
  return listOfAll([operatorView(seenAt), ...people].reverse(), query, 'desc', (each) => each);
}

/** Changes a person. The only owner may demote or block themselves: the operator token stays an owner of everything. */
export async function patchPerson(request: ConsoleRequest<unknown, PatchPersonBody>): Promise<Reply> {
  const { caller, params, body, services } = request;
  const { signIns } = services;
  const id = params.id;
  if (id === operatorPerson.id && reaches(caller.grant, null)) throw new Failure('role_not_permitted');
  const known = (await signIns.everybody()).find((person) => person.id === id);
  if (known === undefined || !reaches(caller.grant, known.onlyWorkspaceId)) throw nowhere();
  if (body.workspace_id !== undefined) await checkGrantable(caller.grant, body.workspace_id, services);
  await signIns.people.adopt(known);
  const changed = await signIns.people.change(
    id,
    (person) => {
      // Another owner may have moved the person meanwhile.
      if (!reaches(caller.grant, person.onlyWorkspaceId)) throw nowhere();
      return {
        ...person,
        role: body.role ?? person.role,
        onlyWorkspaceId: body.workspace_id === undefined ? person.onlyWorkspaceId : body.workspace_id,
        blocked: body.blocked ?? person.blocked,
        ...((body.role !== undefined || body.workspace_id !== undefined) && { grantedByHand: true as const }),
      };
    },
    audited(request, 'person'),
  );
  if (changed === null) throw nowhere();
  if (changed.blocked) await signIns.endAll(id);
  await releaseWithoutRole(changed, { ...causeByOperator(request), auditStep: auditedSteps(request) }, services);
  return { status: 200, json: personView({ ...changed, lastSeenAt: Math.max(known.lastSeenAt, changed.lastSeenAt) }) };
}

/** Releases the sessions that the person has at the desk and may not answer any more. */
export function releaseWithoutRole(person: PersonRecord, cause: Cause, services: Services): Promise<void> {
  return releaseSessionsOf(person.id, (workspaceId) => mayWorkDesk(person, workspaceId), cause, services);
}

/**
 * Throws unless a person with this grant may give one for the workspace: 403 for all workspaces, and 404 for a
 * workspace that does not exist or that is another's.
 */
export async function checkGrantable(grant: Grant, workspaceId: string | null, { host }: Services): Promise<void> {
  if (workspaceId === null) {
    if (!reaches(grant, null)) throw new Failure('role_not_permitted');
    return;
  }
  if (!reaches(grant, workspaceId) || (await host.workspaces.of(workspaceId)) === null) throw nowhere();
}
