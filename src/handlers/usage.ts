/** `GET /usage`: what a window of time cost, in buckets aligned to UTC (contract 6 and 12). */
import { secondsOf } from '../clock.ts';
import { Failure } from '../errors.ts';
import { limits } from '../limits.ts';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import type { UsageCounts } from '../store.ts';
import { usageCountsView } from '../views.ts';
import { listedAssistants } from './common.ts';

export interface UsageFields {
  readonly start?: number;
  readonly end?: number;
  readonly bucket?: string;
  readonly assistant_id?: string;
}

const daySeconds = 86_400;

export async function usage({ caller, query, services }: Request<KeyCaller, UsageFields>): Promise<Reply> {
  windowOf(query, services);
  const assistantIds = await listedAssistants(caller, query.assistant_id, services);
  return usageReply(caller.workspaceId, assistantIds, query, services);
}

/** The usage of a workspace, of these assistants or (null) of all. */
export async function usageReply(
  workspaceId: string,
  assistantIds: readonly string[] | null,
  query: UsageFields,
  services: Services,
): Promise<Reply> {
  const { start, end } = windowOf(query, services);
  const bucket = query.bucket === 'hour' ? 'hour' : 'day';
  const bucketSeconds = bucket === 'hour' ? 3600 : daySeconds;
  const buckets = await services.store.usage(workspaceId, { assistantIds, start, end, bucketSeconds });
  const data = buckets.map((counts) => ({ start: counts.start, ...usageCountsView(counts) }));
  return { status: 200, json: { object: 'usage', start, end, bucket, data, totals: usageCountsView(totalsOf(buckets)) } };
}

/** Start and end in Unix seconds; throws `invalid_range`. */
function windowOf(query: UsageFields, { clock }: Services): { start: number; end: number } {
  // The default window ends behind this second, so that what just happened is in it.
  const end = query.end ?? secondsOf(clock.now()) + 1;
  const start = query.start ?? Math.max(0, end - limits.usageDaysDefault * daySeconds);
  if (start > end || end - start > limits.usageDaysMax * daySeconds) throw new Failure('invalid_range', { limit: limits.usageDaysMax });
  return { start, end };
}

const none: UsageCounts = {
  sessions: 0,
  turns: 0,
  failedTurns: 0,
  inputTokens: 0,
  outputTokens: 0,
  speechCharacters: 0,
  transcriptionSeconds: 0,
};

function totalsOf(buckets: readonly UsageCounts[]): UsageCounts {
  const names = Object.keys(none) as (keyof UsageCounts)[];
  return Object.fromEntries(names.map((name) => [name, buckets.reduce((sum, bucket) => sum + bucket[name], 0)])) as unknown as UsageCounts;
}
