/**
 * Checks a store's records without changing them: whether this version can read them, whether its sealed secrets open,
 * and whether its webhooks get their events.
 */
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type {
  Assistant,
  CatalogKind,
  CatalogRecords,
  Credential,
  Records,
  Tool,
  Webhook,
  Workspace,
} from '../../store/store.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import { installation } from '../../store/records.ts';
import { auditOfWorkspaces } from '../../store/records/audit.ts';
import { kindsOfAssistant } from '../../store/records/tests.ts';
import { openVault, signingSecrets, webhookHolder, type SealedHolder } from '../../access/vault.ts';
import { identitySecrets } from '../../access/identity.ts';
import { check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check } from '../../store/doctor/check.ts';
import { examineDeliveries } from './deliveries.ts';
import { messageOfThrown } from '../../base/thrown.ts';

/** Workspaces that are examined, and credentials of one. */
const doctorRowsMax = 1_000;

/** The secrets that may open what is sealed. */
export interface OpeningSecrets {
  /** Null where none is set or kept: then nothing can be opened. */
  readonly secret: string | null;
  readonly previous: string | null;
}

/** Rejects with `StoreUnavailable` if the store does not answer. */
export async function examineRecords(
  records: Records,
  secrets: OpeningSecrets,
  ids: Ids,
  nowMs: number,
): Promise<Check[]> {
  let workspaces: Workspace[];
  const credentials: Credential[] = [];
  const tools: Tool[] = [];
  const webhooks: Webhook[] = [];
  const assistants: Assistant[] = [];
  let deliveries: Check[];
  try {
    workspaces = await firstOf(records, 'workspace', '');
    for (const { id } of workspaces) {
      for (const kind of ['assistant', ...kindsOfAssistant, 'key', 'audit_entry'] as const)
        await newestOf(records, kind, id);
      await records.sessions.list(
        id,
        { assistantIds: null, status: null, activeSince: 0, now: 0 },
        { limit: 1, after: null, order: 'desc' },
      );
      credentials.push(...(await firstOf(records, 'credential', id)));
      tools.push(...(await firstOf(records, 'tool', id)));
      webhooks.push(...(await firstOf(records, 'webhook', id)));
      assistants.push(...(await firstOf(records, 'assistant', id)));
    }
    for (const place of [installation, auditOfWorkspaces]) await newestOf(records, 'audit_entry', place);
    const workspaceIds = workspaces.map(({ id }) => id);
    deliveries = await examineDeliveries(records, workspaceIds, webhooks, nowMs);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error;
    const advice =
      'If a later version of parley has written here, run that one; otherwise bring back the last good copy of the store.';
    return [check('format', fail(`The records cannot be read: ${messageOfThrown(error)}`, advice))];
  }
  return [
    check('format', ok(counted(workspaces.length))),
    checkOpening(ofCredentials, credentials, secrets, ids),
    checkOpening(ofTools, tools.flatMap(signingSecrets), secrets, ids),
    checkOpening(
      ofWebhooks,
      webhooks.map((webhook) => ({ ...webhookHolder(webhook), sealed: webhook.sealed })),
      secrets,
      ids,
    ),
    checkOpening(ofIdentities, assistants.flatMap(identitySecrets), secrets, ids),
    ...deliveries,
  ];
}

function counted(workspaces: number): string {
  if (workspaces === 0) return 'nothing is stored yet';
  if (workspaces === 1) return 'one workspace reads well';
  return workspaces < doctorRowsMax
    ? `${workspaces} workspaces read well`
    : `the first ${workspaces} workspaces read well`;
}

const newestOf = ({ catalog }: Records, kind: CatalogKind, workspaceId: string) =>
  catalog.list(kind, workspaceId, { limit: limits.listMax, after: null, order: 'desc' });

async function firstOf<K extends CatalogKind>(
  { catalog }: Records,
  kind: K,
  workspaceId: string,
): Promise<CatalogRecords[K][]> {
  const records: CatalogRecords[K][] = [];
  for await (const record of recordsOf(catalog, kind, workspaceId)) if (records.push(record) === doctorRowsMax) break;
  return records;
}

/** The secrets of one check, and what to do about those that do not open. */
interface Opening {
  readonly id: string;
  readonly again: string;
}

/** A credential that does not open is one whose assistants answer 503 `assistant_unavailable`. */
const ofCredentials: Opening = { id: 'credentials', again: 'enter them again: parley credentials update' };
/** Calls of a tool whose signing secret does not open are `refused`. */
const ofIdentities: Opening = {
  id: 'identity-secrets',
  again: 'give the links new ones: the page of the assistant in the console',
};
const ofTools: Opening = { id: 'signing-secrets', again: 'give the tools new ones: rotate-secret in the console' };
/** A webhook has no rotation: its receiver needs the secret of a new one. */
const ofWebhooks: Opening = { id: 'webhook-secrets', again: 'delete the webhooks and create them again' };

function checkOpening(
  { id: name, again }: Opening,
  credentials: readonly SealedHolder[],
  { secret, previous }: OpeningSecrets,
  ids: Ids,
): Check {
  if (credentials.length === 0) return check(name, ok('none is stored'));
  if (secret === null)
    return check(
      name,
      fail(
        `${credentials.length} stored, and no PARLEY_SECRET to open them with`,
        'Set the PARLEY_SECRET that they were stored under.',
      ),
    );
  const vault = openVault(secret, ids, previous);
  const sealings = credentials.map((credential) => vault.sealing(credential));
  const shut = credentials.filter((_, index) => sealings[index] === null);
  const old = sealings.filter((sealing) => sealing?.secret === 'previous');
  const loose = sealings.filter((sealing) => sealing?.bound === false);
  if (shut.length === 0 && old.length > 0) {
    const still = `${old.length} of ${credentials.length} open only with PARLEY_SECRET_PREVIOUS`;
    return check(name, warn(still, 'Keep it set: the next start of parley encrypts them under PARLEY_SECRET.'));
  }
  if (shut.length === 0 && loose.length > 0) {
    const still = `${loose.length} of ${credentials.length} were encrypted by an earlier version, which did not bind them to their provider and base URL`;
    return check(
      name,
      warn(
        still,
        'The next start of parley binds them; on Redis one with PARLEY_SECRET_PREVIOUS set, to the same secret if it is not to change, once no server of that version runs.',
      ),
    );
  }
  const unneeded = previous === null ? '' : '; PARLEY_SECRET_PREVIOUS can be unset';
  if (shut.length === 0) return check(name, ok(`all ${credentials.length} open with PARLEY_SECRET${unneeded}`));
  const summary = `${shut.length} of ${credentials.length} do not open with this PARLEY_SECRET (${shut
    .slice(0, 3)
    .map(({ id }) => id)
    .join(', ')}${shut.length > 3 ? ', …' : ''})`;
  if (shut.length === credentials.length)
    return check(
      name,
      fail(
        summary,
        `Set the PARLEY_SECRET that they were stored under, as PARLEY_SECRET_PREVIOUS if it was changed, or ${again}.`,
      ),
    );
  return check(
    name,
    warn(
      summary,
      `They were stored under another PARLEY_SECRET, or their provider or base URL was changed past parley. Set PARLEY_SECRET_PREVIOUS to that secret, or ${again}.`,
    ),
  );
}
