/** Requests made under an `Idempotency-Key`, remembered until they expire by Redis's clock. */
import type { IdempotencyRecord, RequestStore } from '../store.ts';
import { unpackRow } from '../codec.ts';
import { memoryDigest } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { bytesOfReply } from './reply.ts';

export class RedisRequests implements RequestStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async find(workspaceId: string, scope: string, key: string): Promise<IdempotencyRecord | null> {
    const place = [this.#roots.workspace(workspaceId), { memory: memoryDigest(scope, key) }] as const;
    if ((await this.#link.run('read-memory', ...place)) === null) return null;
    // The answer based on this read acknowledges the request, and the first answer may have failed without a replica's
    // confirmation.
    const record = await this.#link.runDurable('read-memory', ...place);
    return record === null ? null : unpackRow<IdempotencyRecord>(bytesOfReply(record));
  }
}
