/**
 * `…/assistants/{id}/link`: where an assistant's public link is, and what it has used of its limits today (contract 9).
 */
import { mayShareAddress } from '../../access/client-address.ts';
import { secondsOf } from '../../base/clock.ts';
import { nextDay, shownUse } from '../../host/link-budget.ts';
import { publicAddress } from '../../access/own-origins.ts';
import { identityHolder } from '../../access/vault.ts';
import { replacedBy } from '../../store/records/tools.ts';
import { Failure } from '../../base/errors.ts';
import type { Assistant, LinkIdentity } from '../../store/store.ts';
import type { Reply } from '../request.ts';
import { mergedLink } from './assistants.ts';
import { audited } from './audit.ts';
import { causeByOperator, noContent, nowSeconds, present, reachPathAssistant, type ConsoleRequest } from './common.ts';
import { linkLimitNames } from '../../base/link-limits.ts';

const decimals = (minutes: number): number => Math.round(minutes * 10) / 10;

export async function linkStatus(request: ConsoleRequest): Promise<Reply> {
  const { head, services } = request;
  const { store, clock, config } = services;
  const { record } = await reachPathAssistant(request);
  const nowMs = clock.now();
  const [usedMs, visitors, ...refused] = (await store.limits.used(record.workspaceId, shownUse(record.id), nowMs)) as [
    number,
    number,
    ...number[],
  ];
  const slug = record.link?.slug ?? null;
  const origin = publicAddress(head, config);
  const json = {
    object: 'link_status',
    url: slug && `${origin}/p/${slug}`,
    snippet: slug && `<script src="${origin}/widget.js" data-slug="${slug}" async></script>`,
    day: new Date(nowMs).toISOString().slice(0, 10),
    minutes_used: decimals(usedMs / 60_000),
    visitors_present: visitors,
    refused: Object.fromEntries(linkLimitNames.map((name, index) => [name, refused[index]!])),
    resets_at: secondsOf(nextDay(nowMs)),
  };
  return { status: 200, headers: { 'x-visitor-addresses': mayShareAddress(head, config) ? 'shared' : 'own' }, json };
}

/** Makes the secret that signs visitors; one that was there before signs too, for a day (contract 23). */
export async function createIdentity(request: ConsoleRequest): Promise<Reply> {
  const { services } = request;
  const secret = `idn_${services.ids.secret()}`;
  const id = services.ids.secret();
  await changeIdentity(request, 'create_identity', (assistant) => {
    const before = assistant.link?.identity;
    const replaced = replacedBy(before?.sealed, before?.replaced ?? [], services.clock.now());
    return {
      id: before?.id ?? id,
      sealed: services.vault.seal(identityHolder(assistant), secret),
      createdAt: nowSeconds(request),
      ...(replaced.length > 0 && { replaced }),
    };
  });
  return { status: 201, headers: { 'cache-control': 'no-store' }, json: { secret } };
}

/** Removes it: no token of the site is good any more, and its visitors keep their sessions, unverified. */
export async function deleteIdentity(request: ConsoleRequest): Promise<Reply> {
  await changeIdentity(request, 'delete_identity', () => undefined);
  return noContent;
}

async function changeIdentity(
  request: ConsoleRequest,
  verb: string,
  identityOf: (assistant: Assistant) => LinkIdentity | undefined,
): Promise<void> {
  const { record } = await reachPathAssistant(request);
  const changed = await request.services.host.assistants.configure(
    record.workspaceId,
    record.id,
    (before) => {
      const { identity: _, ...link } = mergedLink(before.link, {});
      const identity = identityOf(before);
      return { ...before, link: identity === undefined ? link : { ...link, identity }, updatedAt: nowSeconds(request) };
    },
    causeByOperator(request, audited(request, 'assistant', verb)),
  );
  present(changed, new Failure('assistant_not_found'));
}
