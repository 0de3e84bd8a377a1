/**
 * Exports an embedded store row by row. It reads the engine itself, because opening the store would void the leases and
 * continue the removals of an earlier process. Rows are read in bounded pages, each within one iteration of the event
 * loop.
 */
import type { Bucket } from '../../../machines/budget.ts';
import { limits } from '../../base/limits.ts';
import type {
  CatalogKind,
  CatalogRecords,
  HistoryKind,
  IdempotencyRecord,
  Move,
  ReleaseCounts,
  StoredDelivery,
  ToolCall,
  TurnPlace,
  VersionCounts,
  Versioned,
} from '../store.ts';
import { StoreUnavailable } from '../store.ts';
import { unpackRow } from '../codec.ts';
import { usedAtOf, type Buckets } from '../budgets.ts';
import { streamingMessage } from '../records.ts';
import { withoutCharges } from '../records/charges.ts';
import { historyRow, importUnfinished, dumpRows, usageRow } from '../dump.ts';
import type {
  DumpProgress,
  DumpRow,
  DumpSource,
  DumpedHistoryRow,
  Holdings,
  MessageRow,
  SessionRow,
  TurnRow,
  UsageRow,
} from '../dump.ts';
import type { Engine } from '../engine.ts';
import { candidateCountsOf, versionCountsOf } from '../releases.ts';
import { hourSeconds } from '../usage.ts';
import { turnRowOf, type EarlierFlightRow, type FlightRow } from './flights.ts';
import { movesOf, NewestMoves, type MovesRow } from './history.ts';
import * as keys from './keys.ts';
import * as rows from './rows.ts';

/** Rows that are put in order at a time. */
const movingPickedMax = 20_000;

export type Readable = Pick<Engine, 'name' | 'open' | 'close' | 'get' | 'range' | 'pause'>;

export class EmbeddedSource implements DumpSource, Holdings {
  readonly #engine: Readable;

  constructor(engine: Readable) {
    this.#engine = engine;
  }

  get name(): string {
    return this.#engine.name;
  }

  async open(): Promise<void> {
    await this.#engine.open();
    if (this.#get<DumpProgress>(keys.importing)?.done !== false) return;
    await this.#engine.close();
    throw new StoreUnavailable(importUnfinished);
  }

  close(): Promise<void> {
    return this.#engine.close();
  }

  rows(nowMs: number): AsyncIterable<DumpRow> {
    return dumpRows(this, nowMs);
  }

  async *records<K extends CatalogKind>(kind: K, workspaceId: string): AsyncGenerator<Versioned<CatalogRecords[K]>> {
    for await (const [, { record, version }] of this.#rows<Versioned<CatalogRecords[K]>>(
      keys.catalog(kind, workspaceId),
    ))
      yield { version, record };
  }

  async releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts> {
    const versions = new Map<number, VersionCounts>();
    for await (const [key, row] of this.#rows<number[]>(keys.versionCounts(workspaceId, assistantId)))
      versions.set(Number(keys.lastPart(key)), versionCountsOf(row));
    return {
      candidate: candidateCountsOf(this.#get<number[]>(keys.candidateCounts(workspaceId, assistantId))),
      versions,
    };
  }

  async buckets(workspaceId: string, keyId: string): Promise<{ buckets: Buckets; usedAt: number | null }> {
    const buckets: Record<string, Bucket> = {};
    for await (const [key, bucket] of this.#rows<Bucket>(keys.keyBudgets(workspaceId, keyId)))
      buckets[keys.lastPart(key)] = bucket;
    return { buckets, usedAt: usedAtOf(buckets) };
  }

  async moves(kind: HistoryKind, workspaceId: string, id: string): Promise<readonly Move[]> {
    const own = await all(this.#rows<MovesRow>(keys.history(kind, workspaceId, id)));
    if (kind !== 'session') return movesOf(own);
    const ofTurns = new NewestMoves();
    for await (const [, turn] of this.#rows<rows.StoredTurn>(keys.turns(workspaceId, id))) ofTurns.add(turn);
    return movesOf(
      [...own, ...ofTurns.rows],
      await all(this.#rows<FlightRow | EarlierFlightRow>(keys.sessionFlights(workspaceId, id))),
    );
  }

  async *sessions(workspaceId: string): AsyncGenerator<SessionRow | DumpedHistoryRow | MessageRow | TurnRow> {
    for await (const [, { session, version, withdrawn }] of this.#rows<rows.StoredSession>(
      keys.sessions(workspaceId),
    )) {
      yield {
        type: 'session',
        version,
        record: session,
        withdrawn: withdrawn && { turnId: withdrawn.turnId, ...answered(withdrawn) },
      };
      yield* historyRow('session', workspaceId, session.id, await this.moves('session', workspaceId, session.id));
      yield* this.#messages(workspaceId, session.id);
    }
  }

  /**
   * The order of the rows differs from the order of their keys. Each pass over all of them picks the next ones in
   * order, so that at most two picks are in memory at a time.
   */
  async *memories(workspaceId: string): AsyncGenerator<IdempotencyRecord> {
    const prefix = keys.memories(workspaceId);
    for (let after = '', picked: number = movingPickedMax; picked === movingPickedMax;) {
      let memories: { readonly place: string; readonly record: IdempotencyRecord }[] = [];
      const pick = (): void => {
        memories.sort((a, b) => (a.place < b.place ? -1 : 1));
        memories = memories.slice(0, movingPickedMax);
      };
      for await (const [key, record] of this.#rows<IdempotencyRecord>(prefix)) {
        const place = keys.memoryEnd(record.untilMs, keys.lastPart(key));
        if (place > after) memories.push({ place, record });
        if (memories.length === 2 * movingPickedMax) pick();
      }
      pick();
      for (const { record } of memories) yield record;
      picked = memories.length;
      after = memories.at(-1)?.place ?? after;
    }
  }

  async *deliveries(workspaceId: string): AsyncGenerator<StoredDelivery> {
    for await (const [, row] of this.#rows<StoredDelivery>(keys.deliveriesIn(workspaceId))) yield row;
  }

  async *usage(workspaceId: string): AsyncGenerator<UsageRow> {
    for await (const [key, counts] of this.#rows<number[]>(keys.usageOf('hour', workspaceId))) {
      const [account, hour] = key.split('/').slice(2) as [string, string];
      const of = [workspaceId, ...keys.accountParts(account)] as const;
      yield usageRow(of, 'hour', Number(hour), counts);
      const [from, to] = [0, hourSeconds].map((seconds) =>
        keys.usageAt('second', workspaceId, account, Number(hour) + seconds),
      ) as [string, string];
      for await (const [second, used] of this.#between<number[]>(from, to)) {
        yield usageRow(of, 'second', Number(keys.lastPart(second)), used);
      }
    }
  }

  async *#messages(workspaceId: string, sessionId: string): AsyncGenerator<MessageRow | TurnRow> {
    const flying = (await all(this.#rows<FlightRow | EarlierFlightRow>(keys.sessionFlights(workspaceId, sessionId))))
      .filter((row): row is FlightRow => row.turn !== undefined)
      .sort((one, other) => one.turn.messageIndex - other.turn.messageIndex);
    for await (const [key, row] of this.#rows<rows.StoredMessage>(keys.messages(workspaceId, sessionId))) {
      // Messages of the desk may follow a turn in flight.
      while (flying.length > 0 && flying[0]!.turn.messageIndex < Number(keys.lastPart(key)))
        yield* this.#flight(flying.shift()!);
      for (const [index, message] of rows.messagesOf(Number(keys.lastPart(key)), row)) {
        const place = message.turnId === null ? null : { workspaceId, sessionId, turnId: message.turnId };
        // An earlier version wrote the message of a turn in flight.
        const record =
          message.status === 'streaming' && place !== null
            ? { ...message, content: await this.#output(place) }
            : message;
        yield { type: 'message', workspaceId, sessionId, index, record };
        const turn =
          place !== null && message.role === 'assistant' ? this.#get<rows.StoredTurn>(keys.turn(place)) : undefined;
        if (turn !== undefined)
          yield this.#turn(
            workspaceId,
            turn,
            turn.finished === null ? this.#get<EarlierFlightRow>(keys.flight(place!)) : undefined,
          );
      }
    }
    for (const row of flying) yield* this.#flight(row);
  }

  async *#flight(row: FlightRow): AsyncGenerator<MessageRow | TurnRow> {
    const { place, turn, said } = row;
    const { workspaceId, sessionId } = place;
    if (said !== undefined)
      yield { type: 'message', workspaceId, sessionId, index: turn.messageIndex - 1, record: said };
    yield {
      type: 'message',
      workspaceId,
      sessionId,
      index: turn.messageIndex,
      record: streamingMessage(turn, await this.#output(place)),
    };
    yield this.#turn(
      workspaceId,
      turnRowOf(row),
      row,
      row.calls === undefined ? [] : await all(this.#rows<ToolCall>(keys.calls(place))),
    );
  }

  async #output(place: TurnPlace): Promise<string> {
    let text = '';
    for await (const [, piece] of this.#rows<string>(keys.output(place))) text += piece;
    return text;
  }

  #turn(
    workspaceId: string,
    { turn, begun, finished, feedback }: rows.StoredTurn,
    flight: FlightRow | EarlierFlightRow | undefined,
    calls: readonly ToolCall[] = [],
  ): TurnRow {
    const memory = flight?.memory ? this.#get<IdempotencyRecord>(flight.memory) : undefined;
    return {
      type: 'turn',
      workspaceId,
      record: withoutCharges(feedback === undefined ? turn : { ...turn, feedback }),
      begun: answered(begun),
      finished: finished && answered(finished),
      flight:
        flight === undefined
          ? null
          : {
              fence: flight.fence,
              stop: flight.stop ?? null,
              remembered: memory === undefined ? null : { scope: memory.scope, key: memory.key },
              ...('released' in flight && flight.released !== undefined && { released: flight.released }),
              ...(calls.length > 0 && { calls }),
            },
    };
  }

  #get<T>(key: string): T | undefined {
    const bytes = this.#engine.get(key);
    return bytes === undefined ? undefined : unpackRow<T>(bytes);
  }

  /** The rows with a prefix. */
  #rows<T>(prefix: string): AsyncGenerator<[string, T]> {
    return this.#between<T>(prefix, keys.endOf(prefix));
  }

  async *#between<T>(from: string, to: string): AsyncGenerator<[string, T]> {
    for (let more = true; more;) {
      const page: [string, T][] = [];
      let bytes = 0;
      more = false;
      for (const [key, value] of this.#engine.range(from, to, false)) {
        page.push([key, unpackRow<T>(value)]);
        bytes += value.length;
        if (page.length < limits.scanRowsMax && bytes < limits.movingBytesMax) continue;
        more = true;
        break;
      }
      yield* page;
      if (!more) return;
      from = keys.justAfter(page.at(-1)![0]);
      await this.#engine.pause();
    }
  }
}

async function all<T>(rows: AsyncIterable<[string, T]>): Promise<T[]> {
  const list: T[] = [];
  for await (const [, row] of rows) list.push(row);
  return list;
}

const answered = ({ fence: { epoch, owner }, version }: rows.StoredTurn['begun']): rows.StoredTurn['begun'] => ({
  fence: { epoch, owner },
  version,
});
