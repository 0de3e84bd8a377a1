/** The store of many processes that takes in what another one held, each row in the shape that the steps would have left it in. */
import type { Clock } from '../../clock.ts';
import { codePoints } from '../../text.ts';
import { packRow } from '../codec.ts';
import { bucketFullMs, holdsOtherData } from '../dump.ts';
import type { Answered, DumpProgress, DumpRow, DumpTarget, KeyRow, MessageRow, SessionRow, TurnRow } from '../dump.ts';
import { fields, floor, hourSeconds } from '../usage.ts';
import { progressOf } from './importing.ts';
import { memoryOf, part, Roots } from './keys.ts';
import { Link } from './link.ts';
import { messageRecord, sessionFields } from './records.ts';
import { loadScripts } from './scripts.ts';
import { refuseVolatile } from './volatile.ts';

export interface RedisTargetOptions {
  readonly clock: Clock;
  readonly prefix?: string;
  readonly allowVolatile: boolean;
}

export class RedisTarget implements DumpTarget {
  readonly name = 'redis';
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #allowVolatile: boolean;

  constructor(url: string, { clock, prefix, allowVolatile }: RedisTargetOptions) {
    this.#link = new Link(url, clock, loadScripts());
    this.#roots = new Roots(prefix);
    this.#allowVolatile = allowVolatile;
  }

  async open(): Promise<void> {
    try {
      await this.#link.open();
      if (!this.#allowVolatile) await refuseVolatile(this.#link, this.#roots);
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

  /** The rows in any order, then the progress: cut in between, some of them are taken in a second time. */
  async load(rows: readonly DumpRow[], progress: DumpProgress): Promise<void> {
    const key = this.#roots.importing;
    // Before the first row, so that no server starts on a part.
    if (progress.rows === rows.length) await this.#link.send(key, 'SET', key, packRow({ ...progress, rows: 0, done: false }));
    await Promise.all(rows.map((row) => this.#put(row)));
    await this.#link.send(key, 'SET', key, packRow(progress));
  }

  /** Whatever a store holds it holds for a workspace: those there are, those being removed, and those with holdings. */
  async #holdsRows(): Promise<boolean> {
    const { workspaces, registry } = this.#roots;
    const counts = [[workspaces, 'ZCARD', `${workspaces}:workspace:ids`], [workspaces, 'SCARD', `${workspaces}:removals`], [registry, 'ZCARD', `${registry}:active`]] as const;
    const found = await Promise.all(counts.map(([root, command, key]) => this.#link.send(root, command, key)));
    return found.some((count) => count !== 0);
  }

  async #put(row: DumpRow): Promise<void> {
    switch (row.type) {
      case 'workspace':
        // For the sweep, and for turns that nobody runs: whoever looks takes out again what holds nothing.
        for (const list of ['active', 'turning']) await this.#link.run('register', this.#roots.registry, list, row.record.id);
        return this.#record(this.#roots.workspaces, row.type, row);
      case 'assistant':
      case 'credential':
        return this.#record(this.#roots.workspace(row.record.workspaceId), row.type, row);
      case 'key':
        return this.#key(row);
      case 'session':
        return this.#session(row);
      case 'message':
        return this.#message(row);
      case 'turn':
        return this.#turn(row);
      case 'memory': {
        const { scope, key, resultId, untilMs } = row.record;
        const name = memoryOf(row.workspaceId, scope, key);
        return void (await this.#link.run('load-memory', this.#roots.workspace(row.workspaceId), name, packRow(row.record), resultId, untilMs));
      }
      case 'usage': {
        const { workspaceId, assistantId, grain, start, counts } = row;
        const place = [part(assistantId), floor(start, hourSeconds), grain === 'second' ? start : ''];
        await this.#link.run('load-usage', this.#roots.workspace(workspaceId), ...place, fields.map((field) => counts[field]).join(','));
      }
    }
  }

  async #record(root: string, kind: string, { record, version }: { readonly record: { readonly id: string }; readonly version: number }): Promise<void> {
    await this.#link.run('load-record', root, kind, part(record.id), packRow(record), version);
  }

  async #key(row: KeyRow): Promise<void> {
    const { id, workspaceId, publicId } = row.record;
    const root = this.#roots.workspace(workspaceId);
    const published = this.#roots.publicKey(publicId);
    await this.#record(root, 'key', row);
    await this.#link.send(published, 'SET', published, packRow({ workspaceId, id }));
    const buckets = Object.entries(row.budgets);
    if (buckets.length === 0) return;
    const key = `${root}:budget:${part(id)}`;
    await this.#link.send(key, 'HSET', key, ...buckets.flatMap(([name, { level, at }]) => [name, `${level} ${at}`]));
    await this.#link.send(key, 'PEXPIREAT', key, Math.max(...buckets.map(([, { at }]) => at)) + bucketFullMs);
  }

  async #session({ record, version, withdrawn }: SessionRow): Promise<void> {
    const given = [part(record.id), version, ...sessionFields(record), part(record.assistantId)];
    await this.#link.run('load-session', this.#roots.workspace(record.workspaceId), ...given, withdrawn === null ? '' : `${withdrawn.turnId} ${textOf(withdrawn)}`);
  }

  async #message({ workspaceId, sessionId, index, record }: MessageRow): Promise<void> {
    const turn = record.status === 'streaming' && record.turnId !== null ? part(record.turnId) : '';
    const given = [messageRecord(record), record.content, codePoints(record.content)];
    await this.#link.run('load-message', this.#roots.workspace(workspaceId), part(sessionId), index, ...given, turn);
  }

  async #turn({ workspaceId, record, begun, finished, flight }: TurnRow): Promise<void> {
    const remembered = flight?.remembered ?? null;
    await this.#link.run(
      'load-turn',
      this.#roots.workspace(workspaceId),
      ...[part(record.sessionId), part(record.id), packRow(record), record.messageIndex, textOf(begun), finished === null ? '' : textOf(finished)],
      ...[flight?.fence.epoch ?? '', flight?.fence.owner ?? '', flight?.stop ?? ''],
      remembered === null ? '' : memoryOf(workspaceId, remembered.scope, remembered.key),
    );
  }
}

/** As the scripts keep an answer. */
const textOf = ({ fence, version }: Answered): string => `${fence.epoch} ${fence.owner} ${version}`;
