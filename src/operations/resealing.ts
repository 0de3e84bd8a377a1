/**
 * Seals credentials and the signing secrets of tools again that were sealed under the previous `PARLEY_SECRET`, or by a
 * version that did not bind them to their provider and origin.
 */
import { identityHolder, signingHolder, webhookHolder, type Holder, type SealedHolder } from '../access/vault.ts';
import type { Services } from '../conversation/services.ts';
import { replacedSecrets, withReplacedSecrets } from '../store/records/tools.ts';
import type { Assistant, CatalogRecords, Tool } from '../store/store.ts';
import { recordsOf } from '../store/parts/catalog.ts';

/**
 * Whether a start reseals. A resealed credential cannot be opened by a process that does not know the new secret, or
 * whose version does not bind. On a shared store such processes may still run; `PARLEY_SECRET_PREVIOUS` states that
 * none does.
 */
export const isToReseal = ({ store, config }: Pick<Services, 'store' | 'config'>): boolean =>
  store.leaseMs === null || config.secretPrevious !== null;

type Parts = Pick<Services, 'store' | 'vault' | 'log' | 'config'>;

/**
 * Visits every secret while the server serves. Any number of processes may do so at once: each compares before it
 * replaces, and leaves a record that another writer has changed. Logs the result; never rejects.
 */
export async function resealSecrets(parts: Parts): Promise<void> {
  const { store, log, config } = parts;
  const counts = { present: 0, resealed: 0, shut: 0 };
  try {
    for await (const workspace of recordsOf(store.catalog, 'workspace', '')) {
      for await (const { id } of recordsOf(store.catalog, 'credential', workspace.id))
        await resealRecord(parts, 'credential', workspace.id, id, counts, (credential, again) => ({
          ...credential,
          sealed: again(credential),
        }));
      for await (const { id } of recordsOf(store.catalog, 'tool', workspace.id))
        await resealRecord(parts, 'tool', workspace.id, id, counts, resealedTool);
      for await (const { id } of recordsOf(store.catalog, 'webhook', workspace.id))
        await resealRecord(parts, 'webhook', workspace.id, id, counts, (webhook, again) =>
          resealed(webhookHolder(webhook), again)(webhook),
        );
      for await (const { id, link } of recordsOf(store.catalog, 'assistant', workspace.id))
        if (link?.identity !== undefined)
          await resealRecord(parts, 'assistant', workspace.id, id, counts, resealedAssistant);
    }
    if (config.secretPrevious !== null)
      log.info(counts, `${done}; PARLEY_SECRET_PREVIOUS can go once all servers have started with both`);
    else if (counts.resealed > 0) log.info(counts, done);
  } catch (error) {
    log.error(
      { err: error, ...counts },
      'Some secrets may still be encrypted under PARLEY_SECRET_PREVIOUS or in an earlier form; the next start continues.',
    );
  }
}

const done =
  'every credential and signing secret that opens is encrypted under PARLEY_SECRET; each credential is bound to its provider and the origin of its base URL';

interface Counts {
  present: number;
  resealed: number;
  shut: number;
}

/** The sealed secret as it is to be: sealed again, or as it is. */
type Again = (holder: SealedHolder) => Uint8Array;

async function resealRecord<K extends 'credential' | 'tool' | 'webhook' | 'assistant'>(
  { store, vault }: Parts,
  kind: K,
  workspaceId: string,
  id: string,
  counts: Counts,
  change: (record: CatalogRecords[K], again: Again) => CatalogRecords[K],
): Promise<void> {
  const current = await store.catalog.read(kind, workspaceId, id);
  if (current === null) return;
  let changes = 0;
  const record = change(current.record, (holder) => {
    const sealing = vault.sealing(holder);
    if (sealing === null) counts.shut++;
    else if (sealing.secret === 'present' && sealing.bound) counts.present++;
    else {
      changes++;
      return vault.seal(holder, vault.open(holder)!);
    }
    return holder.sealed;
  });
  if (changes === 0) return;
  if ((await store.catalog.replace(kind, record, current.version)) !== null) counts.resealed += changes;
  vault.forget(workspaceId, id);
}

/** Seals the secret of a holder again. */
const resealed =
  (holder: Holder, again: Again) =>
  <S extends { readonly sealed: Uint8Array }>(one: S): S => ({
    ...one,
    sealed: again({ ...holder, sealed: one.sealed }),
  });

/** A tool with its signing secrets sealed again, also those that rotations have replaced and that sign still. */
function resealedTool(tool: Tool, again: Again): Tool {
  const holder = signingHolder(tool);
  const sealed = tool.sealed && again({ ...holder, sealed: tool.sealed });
  return withReplacedSecrets({ ...tool, sealed }, replacedSecrets(tool).map(resealed(holder, again)));
}

/** An assistant with the secrets of its link sealed again. */
function resealedAssistant(assistant: Assistant, again: Again): Assistant {
  const { link } = assistant;
  if (link?.identity === undefined) return assistant;
  const reseal = resealed(identityHolder(assistant), again);
  const replaced = link.identity.replaced?.map(reseal);
  return { ...assistant, link: { ...link, identity: { ...reseal(link.identity), ...(replaced && { replaced }) } } };
}
