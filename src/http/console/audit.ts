/** The audit: its rows as requests write them, and `GET /console/api/audit` (contract 22). */
import { changesOf, listAudit } from '../../store/parts/audit.ts';
import { clientAddress } from '../../access/client-address.ts';
import { reaches, type Grant } from '../../base/roles.ts';
import { list, pageRequest } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import {
  candidateView,
  consoleAssistantView,
  credentialView,
  toolView,
  webhookView,
  workspaceView,
} from '../../conversation/views.ts';
import { auditedTest } from '../../conversation/testing/tests.ts';
import { installation } from '../../store/records.ts';
import { ownIdOf } from '../../store/records/tests.ts';
import { auditOfWorkspaces } from '../../store/records/audit.ts';
import type {
  Assistant,
  AuditedStep,
  Cause,
  AuditChange,
  AuditEntry,
  Credential,
  Key,
  PersonRecord,
  SignIn,
  AssistantTest,
  Tool,
  Webhook,
  Workspace,
} from '../../store/store.ts';
import type { RequestHead } from '../../base/edge.ts';
import type { Services } from '../../conversation/services.ts';
import type { AuditEntryView, AuditQuery } from '../../wire/wire.ts';
import { nowhere, type ConsoleRequest } from './common.ts';

/** A person who changes something, and what makes the rows. */
interface Actor {
  readonly by: AuditEntry['by'];
  readonly services: Pick<Services, 'ids' | 'clock'>;
}

/** The parts of a request that a row needs. */
type Acting = Pick<ConsoleRequest, 'caller' | 'head' | 'services'>;

interface Audited {
  readonly action: string;
  readonly objectType: string;
  readonly objectId: string;
  /** The workspace that the object belongs to; null for none. */
  readonly inWorkspaceId: string | null;
  readonly changes?: readonly AuditChange[];
}

/** A row; `place`: where the changed record is stored. */
export const auditEntry = (
  { by, services: { ids, clock } }: Actor,
  place: string,
  { changes = [], ...audited }: Audited,
): AuditEntry => ({
  id: ids.make('aud'),
  workspaceId: place,
  at: Math.floor(clock.now() / 1000),
  by,
  ...audited,
  changes,
});

export const actorOf = ({ caller, head, services }: Acting): Actor => ({
  by: byOf(caller.by, caller.grant, head, services),
  services,
});

/** The person, and the address that the request came from. */
const byOf = (
  { id, name }: Pick<AuditEntry['by'], 'id' | 'name'>,
  { role }: Grant,
  head: RequestHead,
  { config }: Pick<Services, 'config'>,
): AuditEntry['by'] => ({ id, name, role, address: clientAddress(head, config.trustedProxies) });

/** The records that rows are about, as the API shows them without their secrets. */
const views = {
  workspace: workspaceView,
  assistant: (assistant: Assistant) => ({
    ...consoleAssistantView(assistant),
    candidate: candidateView(assistant),
    recalls: assistant.release?.recalls ?? 0,
  }),
  credential: credentialView,
  tool: toolView,
  webhook: webhookView,
  test: auditedTest,
  key: ({ name, assistantIds, expiresAt, limits, revokedAt }: Key) => ({
    name,
    assistant_ids: assistantIds,
    expires_at: expiresAt,
    limits: {
      requests: limits.requests,
      speech: limits.speech,
      transcription_tokens: limits.transcriptionTokens,
      tokens_per_day: limits.tokensPerDay ?? null,
    },
    revoked_at: revokedAt,
  }),
  person: ({ name, role, onlyWorkspaceId, blocked }: PersonRecord) => ({
    name,
    role,
    only_workspace_id: onlyWorkspaceId,
    blocked,
  }),
} as const;

interface Records {
  workspace: Workspace;
  assistant: Assistant;
  credential: Credential;
  tool: Tool;
  webhook: Webhook;
  test: AssistantTest;
  key: Key;
  person: PersonRecord;
}

/** Secrets of records: a row says that one was replaced, and never shows it. */
const secretOf = (record: Records[keyof Records] | null): unknown =>
  record === null ? null : 'link' in record ? record.link?.identity?.sealed : 'sealed' in record ? record.sealed : null;
const secretChange: AuditChange = { path: 'secret', before: '(hidden)', after: '(hidden)' };

/**
 * Returns the function that writes the row of a change to a record: created without `before`, deleted without `after`;
 * the function returns undefined where nothing changes.
 */
export function audited<K extends keyof Records>(
  request: Acting,
  kind: K,
  verb?: string,
): (before: Records[K] | null, after: Records[K] | null) => AuditEntry | undefined {
  const actor = actorOf(request);
  const view = views[kind] as (record: Records[K]) => object;
  return (before, after) => {
    const changes = changesOf(before && view(before), after && view(after));
    if (before !== null && after !== null && secretOf(before) !== secretOf(after)) changes.push(secretChange);
    if (before !== null && after !== null && changes.length === 0) return undefined;
    const record = (after ?? before)!;
    const inWorkspaceId =
      kind === 'workspace'
        ? record.id
        : kind === 'person'
          ? (record as PersonRecord).onlyWorkspaceId
          : (record as Assistant).workspaceId;
    const place = kind === 'workspace' ? auditOfWorkspaces : kind === 'person' ? installation : inWorkspaceId!;
    const objectId = kind === 'test' ? ownIdOf(record as AssistantTest) : record.id;
    const action = before === null ? 'create' : after === null ? 'delete' : (verb ?? 'update');
    return auditEntry(actor, place, { action, objectType: kind, objectId, inWorkspaceId, changes });
  };
}

/** The changes of each step of a conversation: ids and states, and no words of anybody. */
const stepChanges: Readonly<Record<AuditedStep['action'], (step: AuditedStep) => readonly AuditChange[]>> = {
  create: ({ session }) => changesOf(null, { assistant_id: session.assistantId, channel: 'console' }),
  message: ({ turnId }) => changesOf(null, { turn_id: turnId }),
  end: () => [{ path: 'status', before: 'open', after: 'ended' }],
  abort: () => [{ path: 'status', before: 'streaming', after: 'aborted' }],
  take: attendanceChange,
  return: attendanceChange,
  release: attendanceChange,
};

function attendanceChange({ attendance }: AuditedStep): readonly AuditChange[] {
  return attendance === undefined ? [] : [{ path: 'attendance', ...attendance }];
}

/** Returns the function that writes the row of a step of a conversation, without its words. */
export function auditedSteps(request: Acting): Cause['auditStep'] & {} {
  const actor = actorOf(request);
  return (step) => {
    const { action, session, turnId } = step;
    const [objectType, objectId] = action === 'abort' ? ['turn', turnId!] : ['session', session.id];
    return auditEntry(actor, session.workspaceId, {
      action,
      objectType,
      objectId,
      inWorkspaceId: session.workspaceId,
      changes: stepChanges[action](step),
    });
  };
}

/** The row of an act on an object of the workspace that changes no record of the console. */
export const actEntry = (
  request: Acting,
  workspaceId: string,
  act: Pick<Audited, 'action' | 'objectType' | 'objectId' | 'changes'>,
): AuditEntry => auditEntry(actorOf(request), workspaceId, { ...act, inWorkspaceId: workspaceId });

/** Stores the row of an act that has no step of the store: before the act, so that none is without its row. */
export async function recordAct(
  request: Acting,
  workspaceId: string,
  act: Parameters<typeof actEntry>[2],
): Promise<void> {
  await request.services.store.catalog.create('audit_entry', actEntry(request, workspaceId, act));
}

/** The row of a person who signs in or out. */
export const signingEntry = (
  action: 'sign_in' | 'sign_out',
  { id, person }: Pick<SignIn, 'id' | 'person'>,
  grant: Grant,
  { head, services }: { readonly head: RequestHead; readonly services: Services },
): AuditEntry =>
  auditEntry({ by: byOf(person, grant, head, services), services }, installation, {
    action,
    objectType: 'sign_in',
    objectId: id,
    inWorkspaceId: grant.workspaceId,
  });

const entryView = (entry: AuditEntry): AuditEntryView => ({
  object: 'audit_entry',
  id: entry.id,
  at: entry.at,
  by: entry.by,
  action: entry.action,
  object_type: entry.objectType,
  object_id: entry.objectId,
  workspace_id: entry.inWorkspaceId,
  changes: [...entry.changes],
});

/** Lists the audit that the caller's grant reaches: an owner of one workspace reads that workspace's. */
export async function getAudit({ caller, query, services }: ConsoleRequest<AuditQuery>): Promise<Reply> {
  if (query.workspace !== undefined && !reaches(caller.grant, query.workspace)) throw nowhere();
  const filter = {
    workspaceId: query.workspace ?? caller.grant.workspaceId,
    by: query.by ?? null,
    objectId: query.object_id ?? null,
  };
  return list(pageRequest(query, 'desc'), (page) => listAudit(services.store.catalog, filter, page), entryView);
}
