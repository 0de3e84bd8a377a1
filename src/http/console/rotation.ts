/** `/console/api/workspaces/{w}/keys/{id}/rotate`: a key is replaced by another, and works on for a while. */
import { Failure } from '../../base/errors.ts';
import { keyStatus } from '../../host/keys.ts';
import type { Reply } from '../request.ts';
import type { Key } from '../../store/store.ts';
import type { RotateKeyBody } from '../../wire/wire.ts';
import { audited } from './audit.ts';
import { causeByOperator, nowSeconds, present, reachWorkspace, type ConsoleRequest } from './common.ts';
import { replyWithKey, storeKey } from './keys.ts';

/**
 * 201 with the new key. It is stored before the old one is given its end, so that a failure between the two never
 * leaves a caller without a key; it leaves behind a key that nobody has, which is taken back.
 */
export async function rotateKey(request: ConsoleRequest<unknown, RotateKeyBody>): Promise<Reply> {
  const { body, params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  // From the store: a restriction that another process has just made must be in the new key.
  const { record: old } = present(await services.store.catalog.read('key', workspaceId, params.id));
  const at = nowSeconds(request);
  mustBeActive(old, request);
  const { name, assistantIds, limits } = old;
  const made = await storeKey(
    { workspaceId, name, assistantIds, limits, expiresAt: ownDate(old) },
    at,
    services,
    causeByOperator(request, audited(request, 'key', 'rotate')),
  );
  try {
    const actor = await services.host.keys.configure(
      workspaceId,
      old.id,
      (key) => {
        mustBeActive(key, request);
        return endingAt(key, at + (body.overlap_seconds ?? 0));
      },
      causeByOperator(request, audited(request, 'key', 'rotate')),
    );
    present(actor);
  } catch (error) {
    await services.host.keys.remove(workspaceId, made.key.id).catch(() => {});
    throw error;
  }
  return replyWithKey(made, services);
}

function mustBeActive(key: Key, { services }: ConsoleRequest): void {
  if (keyStatus(key, services.clock.now()) !== 'active') throw new Failure('invalid_field', { field: 'id' });
}

/**
 * A key that is rotated again within its overlap is not prolonged, and hands on the date that it had before the first
 * time.
 */
const endingAt = (key: Key, at: number): Key => ({
  ...key,
  expiresAt: Math.min(key.expiresAt ?? at, at),
  ownExpiresAt: ownDate(key),
});

const ownDate = ({ ownExpiresAt, expiresAt }: Key): number | null =>
  ownExpiresAt === undefined ? expiresAt : ownExpiresAt;
