/**
 * Erasures, by any number of processes. The hash `erasures` of a workspace has those that have begun; the workspace is
 * registered before, so that a sweep finds it.
 */
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { unpackRow } from '../codec.ts';
import type { ErasedCounts, ErasedKind, ErasedTraces, Erasure, ErasureStore } from '../parts/erasures.ts';
import { sessionsNamedIn } from '../records.ts';
import type { AuditEntry, IdempotencyRecord } from '../store.ts';
import { auditFields, RedisAudit } from './audit.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import type { Registry } from './registry.ts';
import { textOfReply, bytesOfReply } from './reply.ts';
import type { Argument, RedisReply } from './reply.ts';

const fieldOf = ({ kind, id }: Erasure): string => `${kind}/${part(id)}`;

export class RedisErasures implements ErasureStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #erasing: Registry;
  readonly #ids: Ids;
  readonly #audit: RedisAudit;

  /** `erasing`: the list of workspaces with erasures. */
  constructor(link: RedisLink, roots: Roots, erasing: Registry, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#erasing = erasing;
    this.#ids = ids;
    this.#audit = new RedisAudit(link, roots);
  }

  async begin(erasure: Erasure, _nowMs: number, audit?: AuditEntry): Promise<boolean> {
    const { workspaceId, id } = erasure;
    if (audit !== undefined) await this.#audit.note(audit);
    await this.#erasing.register(workspaceId);
    const begun = await this.#link.runDurable('begin-erasure', this.#roots.workspace(workspaceId), {
      erasure: fieldOf(erasure),
      id,
      write: this.#ids.secret(),
      ...auditFields(audit),
    });
    return begun === 0;
  }

  async eraseSession(erasure: Erasure, sessionId: string): Promise<void> {
    const { workspaceId } = erasure;
    const root = this.#roots.workspace(workspaceId);
    await this.#link.runDurable('erase-session', root, {
      session: part(sessionId),
      erasure: fieldOf(erasure),
      turns: await this.#countFields(`${root}:turns:${part(sessionId)}`, '*/begun'),
      feedback: await this.#countFields(`${root}:turns:${part(sessionId)}`, '*/feedback'),
      channel: this.#roots.channel('notices'),
      workspaceId,
      sessionId,
    });
  }

  async eraseRecord(erasure: Erasure, kind: ErasedKind, id: string): Promise<void> {
    await this.#link.runDurable('erase-record', this.#roots.workspace(erasure.workspaceId), {
      kind,
      id: part(id),
      erasure: fieldOf(erasure),
    });
  }

  async forget(workspaceId: string, { sessionIds, places, limits: names }: ErasedTraces): Promise<void> {
    const root = this.#roots.workspace(workspaceId);
    for await (const fields of this.#scanned('HSCAN', `${root}:memories`)) {
      const memories: Argument[] = [];
      for (let at = 0; at < fields.length; at += 2) {
        const name = textOfReply(fields[at]);
        if (name.endsWith('/result')) continue;
        const record = unpackRow<IdempotencyRecord>(bytesOfReply(fields[at + 1]));
        if (sessionsNamedIn(record).some((id) => sessionIds.has(id))) memories.push(name, bytesOfReply(fields[at + 1]));
      }
      if (memories.length > 0) await this.#link.runDurable('forget-memories', root, { memories });
    }
    for (const name of names) {
      const key = `${root}:limit:${part(name)}`;
      await this.#link.sendDurable(key, 'DEL', key);
    }
    const ofHolder = new Map<string, string[]>();
    for (const { holder, seat } of places) {
      const seats = ofHolder.get(part(holder)) ?? [];
      ofHolder.set(part(holder), [...seats, seat === null ? '' : part(seat)]);
    }
    for (const [holder, seats] of ofHolder) await this.#freeSeats(root, holder, seats);
  }

  async finish(erasure: Erasure): Promise<ErasedCounts> {
    const { workspaceId, kind, id } = erasure;
    const answer = await this.#link.runDurable('finish-erasure', this.#roots.workspace(workspaceId), {
      erasure: fieldOf(erasure),
      write: this.#ids.secret(),
      channel: this.#roots.channel('notices'),
      workspaceId,
      kind,
      id,
    });
    const counts = textOfReply(answer).split(' ').map(Number);
    const [sessions = 0, messages = 0, turns = 0, feedback = 0, tests = 0] = counts;
    return { sessions, messages, turns, feedback, tests };
  }

  async unfinished(): Promise<Erasure[]> {
    const erasures: Erasure[] = [];
    for (const { workspaceId, stale } of await this.#erasing.all()) {
      const key = `${this.#roots.workspace(workspaceId)}:erasures`;
      let isEmpty = true;
      for await (const fields of this.#scanned('HSCAN', key)) {
        for (let at = 0; at < fields.length; at += 2) {
          const [kind, , count] = textOfReply(fields[at]).split('/') as [Erasure['kind'], string, string?];
          if (count === undefined) erasures.push({ workspaceId, kind, id: textOfReply(fields[at + 1]) });
          isEmpty = false;
        }
      }
      if (stale && isEmpty) await this.#erasing.unregister(workspaceId);
    }
    return erasures;
  }

  async #countFields(key: string, pattern: string): Promise<number> {
    let count = 0;
    for await (const fields of this.#scanned('HSCAN', key, 'MATCH', pattern)) count += fields.length / 2;
    return count;
  }

  /** Finds the limits whose places the holder has by a scan of the keys on the workspace's shard. */
  async #freeSeats(root: string, holder: string, seats: readonly string[]): Promise<void> {
    const before = `${root}:limit:`;
    const after = `:${holder}`;
    for await (const keys of this.#scanned('SCAN', root, 'MATCH', `${globbed(before)}*${globbed(after)}`)) {
      const names = keys.map((key) => textOfReply(key).slice(before.length, -after.length));
      const given = names.flatMap((name) => seats.flatMap((seat) => [name, holder, seat]));
      if (given.length > 0) await this.#link.runDurable('free-seats', root, { seats: given });
    }
  }

  /** The pieces of a scan: of a key's fields, or of the keys on a root's shard. */
  async *#scanned(command: 'SCAN' | 'HSCAN', key: string, ...narrowed: string[]): AsyncGenerator<RedisReply[]> {
    let cursor = '0';
    do {
      const given = command === 'SCAN' ? [cursor] : [key, cursor];
      const answer = await this.#link.send(key, command, ...given, ...narrowed, 'COUNT', limits.scanRowsMax);
      const [next, piece] = answer as unknown as [RedisReply, RedisReply[]];
      yield piece;
      cursor = textOfReply(next);
    } while (cursor !== '0');
  }
}

/** A text as a pattern of Redis that matches it alone. */
const globbed = (text: string): string => text.replace(/[*?[\]\\^]/g, '\\$&');
