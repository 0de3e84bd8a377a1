/** `/console/api/workspaces/{w}/keys`. */
import { nobody } from '../../actors/cause.ts';
import { createdMove } from '../../actors/history.ts';
import { activeSnapshot, keyIdOf } from '../../host/keys.ts';
import { usedTokens } from '../../host/token-budget.ts';
import { makeKey } from '../../access/keys.ts';
import { limits } from '../../base/limits.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { Cause, Key, KeyLimits, Page, PageRequest } from '../../store/store.ts';
import { keyView } from '../../conversation/views.ts';
import type { KeyBody } from '../../wire/wire.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import { audited } from './audit.ts';
import { causeByOperator, nowSeconds, present, reachWorkspace, type ConsoleRequest } from './common.ts';

const defaultLimits: KeyLimits = {
  requests: limits.requestsPerMinute,
  speech: limits.speechPerMinute,
  transcriptionTokens: limits.transcriptionTokensPerMinute,
};

export async function listKeys({ params, query, services }: ConsoleRequest<PageFields>): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace({ params, services });
  const read = async (wanted: PageRequest): Promise<Page<View>> => {
    const { items, next } = await services.store.catalog.list('key', workspaceId, wanted);
    return { items: await viewsOf(workspaceId, items, services), next };
  };
  return list(pageRequest(query, 'desc'), read, (view) => view);
}

type View = ReturnType<typeof keyView>;

/** Each key with its budgets as they stand. */
async function viewsOf(workspaceId: string, keys: readonly Key[], { store, clock }: Services): Promise<View[]> {
  const now = clock.now();
  if (keys.length === 0) return [];
  const counted = keys.filter(({ limits: { tokensPerDay } }) => tokensPerDay != null).map(({ id }) => id);
  const [standings, used] = await Promise.all([
    store.limits.readBudgets(workspaceId, keys, now),
    counted.length === 0 ? [] : store.limits.used(workspaceId, counted.map(usedTokens), now),
  ]);
  return keys.map((key, index) => keyView(key, standings[index]!, used[counted.indexOf(key.id)] ?? 0, now));
}

async function viewOf(key: Key, services: Services): Promise<View> {
  const [view] = await viewsOf(key.workspaceId, [key], services);
  return view!;
}

/** Creates a key in a workspace; its text is only returned, and stored nowhere. */
export function issueKey(
  workspaceId: string,
  body: KeyBody & { name: string },
  at: number,
  services: Services,
  cause: Cause = nobody,
): Promise<IssuedKey> {
  const { name, assistant_ids: assistantIds = null, expires_at: expiresAt = null } = body;
  return storeKey(
    { workspaceId, name, assistantIds, expiresAt, limits: mergedLimits(defaultLimits, body.limits) },
    at,
    services,
    cause,
  );
}

/** A key as it was stored, and its text. */
export interface IssuedKey {
  readonly key: Key;
  readonly text: string;
}

type KeySettings = Pick<Key, 'workspaceId' | 'name' | 'assistantIds' | 'expiresAt' | 'limits'>;

export async function storeKey(
  settings: KeySettings,
  at: number,
  services: Services,
  cause: Cause,
): Promise<IssuedKey> {
  const { publicId, text, digest } = makeKey(services.ids);
  const key: Key = {
    ...settings,
    id: keyIdOf(publicId),
    publicId,
    digest,
    createdAt: at,
    revokedAt: null,
    machine: activeSnapshot(settings.expiresAt),
  };
  await services.store.catalog.create(
    'key',
    key,
    createdMove(key.machine, services.clock.now(), cause),
    cause.audit?.(null as never, key as never),
  );
  // Other processes are notified; this one may remember the key as unknown.
  services.host.keys.doubt(key.id);
  return { key, text };
}

export async function createKey(request: ConsoleRequest<unknown, KeyBody & { name: string }>): Promise<Reply> {
  const { body, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  return replyWithKey(
    await issueKey(workspaceId, body, nowSeconds(request), services, causeByOperator(request, audited(request, 'key'))),
    services,
  );
}

/** The one answer that holds a key's text. */
export const replyWithKey = async ({ key, text }: IssuedKey, services: Services): Promise<Reply> => ({
  status: 201,
  headers: { location: `/console/api/workspaces/${key.workspaceId}/keys/${key.id}`, 'cache-control': 'no-store' },
  json: { ...(await viewOf(key, services)), key: text },
});

export async function getKey(request: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await request.services.host.keys.of(workspaceId, request.params.id);
  return { status: 200, json: await viewOf(present(actor).record, request.services) };
}

export async function patchKey(request: ConsoleRequest<unknown, KeyBody>): Promise<Reply> {
  const { body, params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await services.host.keys.configure(
    workspaceId,
    params.id,
    (key) => ({
      ...(body.expires_at === undefined ? key : datedAnew(key, body.expires_at)),
      name: body.name ?? key.name,
      assistantIds: body.assistant_ids === undefined ? key.assistantIds : body.assistant_ids,
      limits: mergedLimits(key.limits, body.limits),
    }),
    causeByOperator(request, audited(request, 'key')),
  );
  return { status: 200, json: await viewOf(present(actor).record, services) };
}

export async function revokeKey(request: ConsoleRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await services.host.keys.revoke(
    workspaceId,
    params.id,
    causeByOperator(request, audited(request, 'key', 'revoke')),
  );
  return { status: 200, json: await viewOf(present(actor).record, services) };
}

/** Sets an expiry of the key's own, and forgets the one from before a rotation. */
function datedAnew({ ownExpiresAt: _, ...key }: Key, expiresAt: number | null): Key {
  return { ...key, expiresAt };
}

const mergedLimits = (before: KeyLimits, given: KeyBody['limits']): KeyLimits => ({
  requests: given?.requests ?? before.requests,
  speech: given?.speech ?? before.speech,
  transcriptionTokens: given?.transcription_tokens ?? before.transcriptionTokens,
  tokensPerDay: given?.tokens_per_day === undefined ? (before.tokensPerDay ?? null) : given.tokens_per_day,
});
