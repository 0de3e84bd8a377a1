/** Checks the webhooks of an installation and the events that wait for them (contract 17). */
import type { Records, StoredDelivery, Webhook } from '../../store/store.ts';
import { check, fail, ok, warn } from '../../store/doctor/check.ts';
import type { Check, Finding } from '../../store/doctor/check.ts';
import { rowOf, RowProblem } from '../../store/dump/text.ts';

/** Deliveries of a workspace that are examined. */
const examinedMax = 10_000;
/** Milliseconds after which a delivery that is due should have been sent. */
const lateMs = 5 * 60_000;

export async function examineDeliveries(
  records: Records,
  workspaceIds: readonly string[],
  webhooks: readonly Webhook[],
  nowMs: number,
): Promise<Check[]> {
  return [
    check('webhooks', webhooksFinding(webhooks)),
    check('deliveries', await deliveriesFinding(records, workspaceIds, webhooks, nowMs)),
  ];
}

/** A person who enables a webhook, or moves it, ends its failures. */
function webhooksFinding(webhooks: readonly Webhook[]): Finding {
  if (webhooks.length === 0) return ok('none is stored');
  const disabled = webhooks.filter(({ enabled, failingSinceMs }) => !enabled && failingSinceMs !== undefined);
  if (disabled.length === 0) return ok(`${webhooks.length} stored, none disabled by failures`);
  const since = (webhook: Webhook): string => `${webhook.id}, failing since ${timeOf(webhook.failingSinceMs!)}`;
  return warn(
    `${disabled.length} of ${webhooks.length} disabled by failures (${listed(disabled.map(since), '; ')}); events of that time were not made`,
    'Repair the receiver, then: parley webhooks enable WEBHOOK, or delete the webhook.',
  );
}

async function deliveriesFinding(
  records: Records,
  workspaceIds: readonly string[],
  webhooks: readonly Webhook[],
  nowMs: number,
): Promise<Finding> {
  const known = new Set(webhooks.map(({ workspaceId, id }) => `${workspaceId} ${id}`));
  const damaged: string[] = [];
  const stray = new Set<string>();
  const waiting: Waiting[] = [];
  let count = 0;
  for (const workspaceId of workspaceIds) {
    let left = examinedMax;
    for await (const { webhookId, id, record, dueMs } of records.deliveries(workspaceId)) {
      count++;
      const problem = problemOf(record, dueMs);
      if (problem !== null) damaged.push(`${id} of ${webhookId}: ${problem}`);
      else if (dueMs !== null) waiting.push({ id, dueMs, eventMs: eventMsOf(record as StoredDelivery) });
      if (!known.has(`${workspaceId} ${webhookId}`)) stray.add(`${id} of ${webhookId}`);
      if (--left === 0) break;
    }
  }
  if (damaged.length > 0)
    return fail(
      `${damaged.length} of ${count} damaged (${listed(damaged, '; ')})`,
      'Bring back the last good copy of the store, or delete these webhooks and create them again, without their events.',
    );
  if (stray.size > 0)
    return warn(
      `${stray.size} of ${count} belong to no webhook (${listed([...stray])})`,
      'They are not sent. A running parley removes them as they fall due.',
    );
  if (waiting.length === 0) return ok(count === 0 ? 'none is stored' : `${count} stored, none waits`);
  return waitingFinding(waiting, count, nowMs);
}

interface Waiting {
  readonly id: string;
  readonly dueMs: number;
  readonly eventMs: number;
}

function waitingFinding(waiting: readonly Waiting[], count: number, nowMs: number): Finding {
  const oldest = waiting.reduce((one, other) => (other.eventMs < one.eventMs ? other : one));
  const late = waiting.filter(({ dueMs }) => dueMs < nowMs - lateMs);
  const found = `${waiting.length} of ${count} wait, the oldest since ${timeOf(oldest.eventMs)} (${oldest.id}, next attempt ${timeOf(oldest.dueMs)})`;
  if (late.length === 0) return ok(found);
  return warn(
    `${found}; ${late.length} should have been sent`,
    'A running parley sends them: start it, or read its log for "Deliveries of webhooks".',
  );
}

/** The fault of a delivery's rows; null if they are sound. */
function problemOf(record: unknown, dueMs: number | null): string | null {
  if (record === null) return 'claims find it, and its record is missing or due at another time';
  try {
    rowOf({ type: 'delivery', record });
  } catch (error) {
    if (error instanceof RowProblem) return error.message;
    throw error;
  }
  const { type, body, status, nextAtMs } = record as StoredDelivery;
  if (typeOf(body) !== type) return `its body is no event ${type}`;
  if ((status === 'pending') !== (nextAtMs !== null)) return `it is ${status}, and its next attempt is ${nextAtMs}`;
  if (nextAtMs !== null && dueMs === null) return 'it waits, and claims do not find it';
  if (nextAtMs === null && dueMs !== null) return `it is ${status}, and claims find it`;
  return null;
}

function typeOf(body: string): unknown {
  try {
    return (JSON.parse(body) as { readonly type?: unknown } | null)?.type;
  } catch {
    return undefined;
  }
}

const eventMsOf = ({ body, nextAtMs }: StoredDelivery): number =>
  Date.parse((JSON.parse(body) as { readonly timestamp: string }).timestamp) || nextAtMs!;

const listed = (names: readonly string[], separator = ', '): string =>
  `${names.slice(0, 3).join(separator)}${names.length > 3 ? `${separator}…` : ''}`;

const timeOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
