/** `/console/api/workspaces/{w}/keys`. */
import { activeSnapshot, keyIdOf } from '../host/keys.ts';
import { makeKey } from '../keys.ts';
import { limits } from '../limits.ts';
import type { Reply } from '../request.ts';
import type { Services } from '../services.ts';
import type { Key, KeyLimits } from '../store.ts';
import { keyView } from '../views.ts';
import type { KeyBody } from '../wire.ts';
import type { PageFields } from '../handlers/lists.ts';
import { listRecords, nowSeconds, present, reachWorkspace, type ConsoleRequest } from './common.ts';

const defaultLimits: KeyLimits = {
  requests: limits.requestsPerMinute,
  speech: limits.speechPerMinute,
  transcriptionTokens: limits.transcriptionTokensPerMinute,
};

export const listKeys = (request: ConsoleRequest<PageFields>): Promise<Reply> =>
  listRecords(request, 'key', (key) => keyView(key, request.services.clock.now()));

/** Makes a key in a workspace; its text is returned here and kept nowhere. */
export async function newKey(workspaceId: string, body: KeyBody & { name: string }, at: number, services: Services): Promise<{ key: Key; text: string }> {
  const { publicId, text, digest } = makeKey(services.ids);
  const expiresAt = body.expires_at ?? null;
  const key: Key = {
    id: keyIdOf(publicId),
    workspaceId,
    publicId,
    digest,
    name: body.name,
    assistantIds: body.assistant_ids ?? null,
    expiresAt,
    limits: mergedLimits(defaultLimits, body.limits),
    createdAt: at,
    revokedAt: null,
    machine: activeSnapshot(expiresAt),
  };
  await services.store.catalog.create('key', key);
  return { key, text };
}

export async function createKey(request: ConsoleRequest<unknown, KeyBody & { name: string }>): Promise<Reply> {
  const { body, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const { key, text } = await newKey(workspaceId, body, nowSeconds(request), services);
  return {
    status: 201,
    headers: { location: `/console/api/workspaces/${workspaceId}/keys/${key.id}`, 'cache-control': 'no-store' },
    json: { ...keyView(key, services.clock.now()), key: text },
  };
}

export async function getKey(request: ConsoleRequest): Promise<Reply> {
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await request.services.host.keys.of(workspaceId, request.params.id!);
  return { status: 200, json: keyView(present(actor).record, request.services.clock.now()) };
}

export async function patchKey(request: ConsoleRequest<unknown, KeyBody>): Promise<Reply> {
  const { body, params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await services.host.keys.configure(workspaceId, params.id!, (key) => ({
    ...key,
    name: body.name ?? key.name,
    assistantIds: body.assistant_ids === undefined ? key.assistantIds : body.assistant_ids,
    expiresAt: body.expires_at === undefined ? key.expiresAt : body.expires_at,
    limits: mergedLimits(key.limits, body.limits),
  }));
  return { status: 200, json: keyView(present(actor).record, services.clock.now()) };
}

export async function revokeKey(request: ConsoleRequest): Promise<Reply> {
  const { params, services } = request;
  const { id: workspaceId } = await reachWorkspace(request);
  const actor = await services.host.keys.revoke(workspaceId, params.id!);
  return { status: 200, json: keyView(present(actor).record, services.clock.now()) };
}

const mergedLimits = (before: KeyLimits, given: KeyBody['limits']): KeyLimits => ({
  requests: given?.requests ?? before.requests,
  speech: given?.speech ?? before.speech,
  transcriptionTokens: given?.transcription_tokens ?? before.transcriptionTokens,
});
