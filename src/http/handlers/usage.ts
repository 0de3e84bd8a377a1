/** `GET /usage`: the usage in a window of time, in buckets aligned to UTC (contract 6). */
import { secondsOf } from '../../base/clock.ts';
import { checkListed } from '../../conversation/access-checks.ts';
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import type { UsageBucket, UsageCounts, UsageQuery } from '../../store/store.ts';
import { usageCountsView } from '../../conversation/views.ts';
import { replyFlowing } from './flowing.ts';
import { jsonHeaders } from './lists.ts';

/** Buckets of usage that are read at a time: 220 bytes each at most. */
const flowingBuckets = 300;

export interface UsageFields {
  readonly start?: number;
  readonly end?: number;
  readonly bucket?: string;
  readonly assistant_id?: string;
}

const daySeconds = 86_400;
const clockToleranceSeconds = 5;

export async function usage({
  caller: { principal },
  query,
  services,
}: Request<PrincipalCaller, UsageFields>): Promise<Reply> {
  const window = usageWindow(query, services);
  return usageReply(
    principal.workspaceId,
    { assistantIds: await checkListed(principal, query.assistant_id, services) },
    window,
    services,
  );
}

export interface UsageWindow {
  /** `start` is inclusive, `end` exclusive, in Unix seconds. */
  readonly start: number;
  readonly end: number;
  readonly bucket: 'day' | 'hour';
}

/** The window that a query requests; throws `invalid_range`. */
export function usageWindow(query: UsageFields, { clock }: Services): UsageWindow {
  const now = secondsOf(clock.now());
  const longest = limits.usageDaysMax * daySeconds;
  // The default window ends behind this second, so that it has the latest usage. A window that began 90 days ago by the
  // client's clock is not too long because of the moment that the request took to arrive.
  const late = query.start === undefined ? 0 : now + 1 - query.start - longest;
  const end = query.end ?? now + 1 - (late > 0 && late <= clockToleranceSeconds ? late : 0);
  const start = query.start ?? Math.max(0, end - limits.usageDaysDefault * daySeconds);
  if (start > end || end - start > longest) throw new Failure('invalid_range', { limit: limits.usageDaysMax });
  return { start, end, bucket: query.bucket === 'hour' ? 'hour' : 'day' };
}

/** The assistants or the key whose usage is requested. */
export type UsageOf = Pick<UsageQuery, 'assistantIds' | 'keyId'>;

export async function usageReply(
  workspaceId: string,
  wanted: UsageOf,
  { start, end, bucket }: UsageWindow,
  services: Services,
): Promise<Reply> {
  const bucketSeconds = secondsIn(bucket);
  const head = JSON.stringify({ object: 'usage', start, end, bucket }).slice(0, -1);
  const parts = partsOf(start, end, bucketSeconds);
  const pieces = piecesOf(head, parts, (from, to) =>
    services.store.usage.read(workspaceId, { ...wanted, start: from, end: to, bucketSeconds }),
  );
  if (parts.length > 1) return replyFlowing(pieces);
  let text = '';
  for await (const piece of pieces) text += piece;
  return { status: 200, headers: jsonHeaders, text };
}

export const secondsIn = (bucket: UsageWindow['bucket']): 3600 | 86_400 => (bucket === 'hour' ? 3600 : daySeconds);

/** The window in parts of `flowingBuckets` each. */
export function partsOf(start: number, end: number, bucketSeconds: number): [from: number, to: number][] {
  const parts: [number, number][] = [];
  for (let from = start; from < end || parts.length === 0;) {
    const to = Math.min(end, from - (from % bucketSeconds) + flowingBuckets * bucketSeconds);
    parts.push([from, to]);
    from = to;
  }
  return parts;
}

async function* piecesOf(
  head: string,
  parts: readonly (readonly [from: number, to: number])[],
  read: (from: number, to: number) => Promise<UsageBucket[]>,
): AsyncGenerator<string, void> {
  let totals = none;
  let before = `${head},"data":[`;
  for (const [from, to] of parts) {
    const buckets = await read(from, to);
    totals = sumOf(totals, buckets);
    yield (
      before + buckets.map((counts) => JSON.stringify({ start: counts.start, ...usageCountsView(counts) })).join(',')
    );
    before = ',';
  }
  yield `],"totals":${JSON.stringify(usageCountsView(totals))}}`;
}

/** The counts of a time in which nothing happened. */
export const none: UsageCounts = {
  sessions: 0,
  turns: 0,
  failedTurns: 0,
  inputTokens: 0,
  outputTokens: 0,
  speechCharacters: 0,
  transcriptionSeconds: 0,
  toolCalls: 0,
  cachedInputTokens: 0,
  feedbackUp: 0,
  feedbackDown: 0,
  personMessages: 0,
  handovers: 0,
};

function sumOf(before: UsageCounts, buckets: readonly UsageCounts[]): UsageCounts {
  const names = Object.keys(none) as (keyof UsageCounts)[];
  return Object.fromEntries(
    names.map((name) => [name, buckets.reduce((sum, bucket) => sum + bucket[name], before[name])]),
  ) as unknown as UsageCounts;
}
