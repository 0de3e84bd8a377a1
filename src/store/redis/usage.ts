/**
 * Usage for each account, an assistant with the API key if there is one: a hash of hours, and for each hour a hash of
 * its seconds.
 */
import { limits } from '../../base/limits.ts';
import type { CountUsage, UsageBucket, UsageQuery, UsageStore } from '../store.ts';
import { floorTo, hourSeconds, stretches, Sums } from '../usage.ts';
import type { Stretch } from '../usage.ts';
import { account, isAsked } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { textOfReply, listOfReply } from './reply.ts';

export class RedisUsage implements UsageStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async count({
    id,
    workspaceId,
    assistantId,
    keyId,
    at,
    speechCharacters,
    transcriptionSeconds,
  }: CountUsage): Promise<void> {
    const fields = {
      write: id,
      account: account(assistantId, keyId),
      countedAt: at,
      speech: speechCharacters,
      seconds: transcriptionSeconds,
    };
    await this.#link.runDurable('count-usage', this.#roots.workspace(workspaceId), fields);
  }

  async read(workspaceId: string, query: UsageQuery): Promise<UsageBucket[]> {
    if (query.end <= query.start) return [];
    const sums = new Sums(query);
    const root = this.#roots.workspace(workspaceId);
    const accounts = listOfReply(await this.#link.send(root, 'SMEMBERS', `${root}:usage`)).map(textOfReply);
    const parts = stretches(query.start, query.end);
    for (const each of accounts.filter((name) => isAsked(name, query))) {
      await Promise.all(parts.map((stretch) => this.#sum(`${root}:usage:${each}`, stretch, sums)));
    }
    return sums.buckets;
  }

  /** Reads fields by name and in parts, so that no single command reads the whole window, or hours outside it. */
  async #sum(key: string, { grain, from, to }: Stretch, sums: Sums): Promise<void> {
    const step = grain === 'hour' ? hourSeconds : 1;
    for (let start = from; start < to;) {
      const hourEnd = floorTo(start, hourSeconds) + hourSeconds;
      const end = Math.min(to, start + limits.scanRowsMax * step, grain === 'hour' ? Infinity : hourEnd);
      const fields = Array.from({ length: Math.ceil((end - start) / step) }, (_, index) => start + index * step);
      const hash = grain === 'hour' ? key : `${key}:${floorTo(start, hourSeconds)}`;
      const values = listOfReply(await this.#link.send(hash, 'HMGET', hash, ...fields));
      for (const [index, counts] of values.entries()) {
        if (counts !== null) sums.add(fields[index]!, textOfReply(counts).split(',').map(Number));
      }
      start = end;
    }
  }
}
