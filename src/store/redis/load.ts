/** Loads an export into the store for many processes, each row in the form in which the steps would have left it. */
import type { Clock } from '../../base/clock.ts';
import { codePoints } from '../../base/text.ts';
import { packRow } from '../codec.ts';
import { bucketFullMs, holdsOtherData } from '../dump.ts';
import type {
  Answered,
  AssistantRow,
  DumpProgress,
  DumpRow,
  DumpTarget,
  KeyRow,
  MessageRow,
  SessionRow,
  TurnRow,
} from '../dump.ts';
import { packMove } from '../moves.ts';
import { eventText } from '../webhook-events.ts';
import { textOfState } from './webhooks.ts';
import { claimOf, entryOf, isUncounted } from '../records.ts';
import { isAtDesk } from '../records/attendance.ts';
import { auditIndex, auditPlaceOf } from '../records/audit.ts';
import { usageFields, floorTo, hourSeconds } from '../usage.ts';
import { Eviction } from './eviction.ts';
import { changedNotice } from './catalog.ts';
import { progressOf } from './importing.ts';
import { account, memoryDigest, part, Roots } from './keys.ts';
import { RedisLink } from './link.ts';
import type { Durability } from './link.ts';
import { feedbackFields, messageRecord, releaseFields, sessionFields, wantsField } from './records.ts';
import { countsOfRelease } from './releases.ts';
import { loadScripts } from './scripts.ts';
import { requireDurable } from './durability.ts';

export interface RedisTargetOptions {
  readonly clock: Clock;
  readonly prefix?: string;
  readonly allowVolatile: boolean;
  /** `committed` by default. */
  readonly durability?: Durability;
}

export class RedisTarget implements DumpTarget {
  readonly name = 'redis';
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #allowVolatile: boolean;
  readonly #clock: Clock;

  constructor(url: string, { clock, prefix, allowVolatile, durability }: RedisTargetOptions) {
    this.#link = new RedisLink(url, clock, loadScripts(), durability);
    this.#roots = new Roots(prefix);
    this.#allowVolatile = allowVolatile;
    this.#clock = clock;
  }

  async open(): Promise<void> {
    try {
      await this.#link.open();
      if (!this.#allowVolatile) await requireDurable(this.#link);
      await new Eviction(this.#link, this.#clock).refuse();
    } catch (error) {
      await this.#link.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  async progress(id: string): Promise<DumpProgress> {
    const stored = await progressOf(this.#link, this.#roots);
    if (stored === null ? await this.#holdsRows() : stored.id !== id) throw holdsOtherData();
    return stored ?? { id, rows: 0, done: false };
  }

  /** The rows in any order, then the progress: after an interruption in between, some rows are loaded again. */
  async load(rows: readonly DumpRow[], progress: DumpProgress): Promise<void> {
    const key = this.#roots.importing;
    // Before the first row, so that no server starts on a partial import.
    if (progress.rows === rows.length)
      await this.#link.sendDurable(key, 'SET', key, packRow({ ...progress, rows: 0, done: false }));
    await Promise.all(rows.map((row) => this.#put(row)));
    await this.#link.sendDurable(key, 'SET', key, packRow(progress));
  }

  /**
   * Whether the store holds anything: every row belongs to a workspace that exists, is being removed, or is registered
   * with holdings, or is of the audit.
   */
  async #holdsRows(): Promise<boolean> {
    const { workspaces, registry } = this.#roots;
    const audit = this.#roots.workspace(auditIndex);
    const counts = [
      [workspaces, 'ZCARD', `${workspaces}:workspace:ids`],
      [workspaces, 'SCARD', `${workspaces}:removals`],
      [registry, 'ZCARD', `${registry}:active`],
      [audit, 'ZCARD', `${audit}:audit_place:ids`],
    ] as const;
    const sizes = await Promise.all(counts.map(([root, command, key]) => this.#link.send(root, command, key)));
    return sizes.some((count) => count !== 0);
  }

  async #put(row: DumpRow): Promise<void> {
    switch (row.type) {
      case 'workspace':
        // For the sweep, and for turns without a living owner. A workspace that holds nothing is later removed from the
        // lists.
        for (const list of ['active', 'turning'])
          await this.#link.runDurable('register', this.#roots.registry, { list, workspace: row.record.id });
        return this.#record(this.#roots.workspaces, row.type, row);
      case 'assistant':
        return this.#assistant(row);
      case 'credential':
        return this.#record(
          this.#roots.workspace(row.record.workspaceId),
          row.type,
          row,
          claimOf(entryOf(row.type, row.record)) ?? '',
        );
      case 'assistant_version':
      case 'assistant_test':
      case 'tool':
        return this.#record(this.#roots.workspace(row.record.workspaceId), row.type, row);
      case 'webhook': {
        const { workspaceId } = row.record;
        await this.#link.runDurable('register', this.#roots.registry, { list: 'calling', workspace: workspaceId });
        return this.#record(
          this.#roots.workspace(workspaceId),
          row.type,
          row,
          '',
          wantsField(entryOf(row.type, row.record)),
        );
      }
      case 'key':
        return this.#key(row);
      case 'session':
        return this.#session(row);
      case 'release': {
        const key = `${this.#roots.workspace(row.workspaceId)}:release:${part(row.assistantId)}`;
        return void (await this.#link.sendDurable(key, 'HSET', key, ...countsOfRelease(row)));
      }
      case 'history': {
        const { workspaceId, kind, id, moves } = row;
        return void (await this.#link.runDurable('load-history', this.#roots.workspace(workspaceId), {
          kind,
          id: part(id),
          moves: moves.map(packMove),
        }));
      }
      case 'message':
        return this.#message(row);
      case 'turn':
        return this.#turn(row);
      case 'memory': {
        const { scope, key, resultId, untilMs } = row.record;
        const fields = {
          memory: memoryDigest(scope, key),
          record: packRow(row.record),
          result: resultId,
          ends: untilMs,
        };
        return void (await this.#link.runDurable('load-memory', this.#roots.workspace(row.workspaceId), fields));
      }
      case 'usage': {
        const { workspaceId, assistantId, keyId, grain, start, counts } = row;
        const place = {
          account: account(assistantId, keyId),
          hour: floorTo(start, hourSeconds),
          second: grain === 'second' ? start : '',
        };
        await this.#link.runDurable('load-usage', this.#roots.workspace(workspaceId), {
          ...place,
          counts: usageFields.map((field) => counts[field] ?? 0).join(','),
        });
        return;
      }
      case 'delivery': {
        const { id, workspaceId, webhookId, type, body, traceparent, sessionId, sourceId, ...state } = row.record;
        return void (await this.#link.runDurable('load-delivery', this.#roots.workspace(workspaceId), {
          webhook: part(webhookId),
          id: part(id),
          event: eventText({ type, body, ...(traceparent !== undefined && { traceparent }) }),
          state: textOfState(state),
          next: state.nextAtMs ?? '',
          session: part(sessionId),
          source: part(sourceId),
        }));
      }
      case 'audit':
        await this.#record(this.#roots.workspace(auditIndex), 'audit_place', {
          record: auditPlaceOf(row.record),
          version: 1,
        });
        return this.#record(this.#roots.workspace(row.record.workspaceId), 'audit_entry', { ...row, version: 1 });
    }
  }

  async #record(
    root: string,
    kind: string,
    { record, version }: { readonly record: { readonly id: string }; readonly version: number },
    alias = '',
    wants = '',
  ): Promise<void> {
    await this.#link.runDurable('load-record', root, {
      kind,
      id: part(record.id),
      record: packRow(record),
      version,
      alias,
      wants,
    });
  }

  async #assistant(row: AssistantRow): Promise<void> {
    const { id, workspaceId, link } = row.record;
    const entry = entryOf('assistant', row.record);
    await this.#record(this.#roots.workspace(workspaceId), 'assistant', row, claimOf(entry) ?? '');
    await this.#link.runDurable('load-release', this.#roots.workspace(workspaceId), {
      assistant: part(id),
      ...releaseFields(entry, row.version),
      notice: changedNotice(entry),
    });
    if (!link?.slug) return;
    const key = `${this.#roots.slug(link.slug)}:assistant`;
    await this.#link.sendDurable(key, 'HSET', key, 'workspace', workspaceId, 'id', id, 'token', 'import', 'at', 0);
  }

  async #key(row: KeyRow): Promise<void> {
    const { id, workspaceId, publicId } = row.record;
    const root = this.#roots.workspace(workspaceId);
    const published = this.#roots.publicKey(publicId);
    await this.#record(root, 'key', row);
    await this.#link.sendDurable(published, 'SET', published, packRow({ workspaceId, id }));
    if (row.usedAt !== undefined) await this.#link.sendDurable(root, 'HSET', `${root}:used`, part(id), row.usedAt);
    const buckets = Object.entries(row.budgets);
    if (buckets.length === 0) return;
    const key = `${root}:budget:${part(id)}`;
    await this.#link.sendDurable(
      key,
      'HSET',
      key,
      ...buckets.flatMap(([name, { level, at }]) => [name, `${level} ${at}`]),
    );
    await this.#link.sendDurable(key, 'PEXPIREAT', key, Math.max(...buckets.map(([, { at }]) => at)) + bucketFullMs);
  }

  async #session({ record, version, withdrawn }: SessionRow): Promise<void> {
    await this.#link.runDurable('load-session', this.#roots.workspace(record.workspaceId), {
      session: part(record.id),
      version,
      ...sessionFields(record),
      assistant: part(record.assistantId),
      trial: isUncounted(record) ? 1 : '',
      withdrawn: withdrawn === null ? '' : `${withdrawn.turnId} ${textOf(withdrawn)}`,
      desk: isAtDesk(record) ? 1 : '',
    });
  }

  async #message({ workspaceId, sessionId, index, record }: MessageRow): Promise<void> {
    const turn = record.status === 'streaming' && record.turnId !== null ? part(record.turnId) : '';
    const fields = { record: messageRecord(record), content: record.content, points: codePoints(record.content), turn };
    await this.#link.runDurable('load-message', this.#roots.workspace(workspaceId), {
      session: part(sessionId),
      index,
      ...fields,
    });
  }

  async #turn({ workspaceId, record: rated, begun, finished, flight }: TurnRow): Promise<void> {
    const { feedback = null, ...record } = rated;
    const { rating, feedback: stored } = feedbackFields(feedback);
    const remembered = flight?.remembered ?? null;
    await this.#link.runDurable('load-turn', this.#roots.workspace(workspaceId), {
      session: part(record.sessionId),
      turn: part(record.id),
      record: packRow(record),
      index: record.messageIndex,
      begun: textOf(begun),
      finished: finished === null ? '' : textOf(finished),
      epoch: flight?.fence.epoch ?? '',
      owner: flight?.fence.owner ?? '',
      stop: flight?.stop ?? '',
      memory: remembered === null ? '' : memoryDigest(remembered.scope, remembered.key),
      released: flight?.released ?? '',
      feedback: feedback === null ? '' : Buffer.concat([Buffer.from(`${rating} `), stored as Uint8Array]),
      calls: (flight?.calls ?? []).map((call) => packRow(call)),
    });
  }
}

/** Packed in the form in which the scripts keep an answer. */
const textOf = ({ fence, version }: Answered): string => `${fence.epoch} ${fence.owner} ${version}`;
