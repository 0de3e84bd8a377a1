/**
 * `…/assistants/{id}/link`: where an assistant's public link is, and what it has used of its limits today (contract 9).
 */
import { mayShareAddress } from '../../access/client-address.ts';
import { secondsOf } from '../../base/clock.ts';
import { nextDay, shownUse } from '../../host/link-budget.ts';
import { publicAddress } from '../../access/own-origins.ts';
import type { Reply } from '../request.ts';
import { reachPathAssistant, type ConsoleRequest } from './common.ts';
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
