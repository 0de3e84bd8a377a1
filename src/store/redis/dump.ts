/**
 * Exports the store for many processes row by row. Redis keeps no snapshot for a reader, so writes made meanwhile may
 * be in the export or not. Each session is exported as it was at one moment: only its newest turn can still grow, and
 * that turn is read together with the session. A message of a turn that is withdrawn meanwhile may still be exported.
 */
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type {
  CatalogKind,
  CatalogRecords,
  HistoryKind,
  Message,
  IdempotencyRecord,
  Move,
  ReleaseCounts,
  Session,
  StopRequest,
  StoredDelivery,
  Turn,
  Versioned,
} from '../store.ts';
import { unpackRow } from '../codec.ts';
import { budgetNames, type Buckets } from '../budgets.ts';
import { historyRow, dumpRows, usageRow } from '../dump.ts';
import type {
  Answered,
  DumpRow,
  DumpSource,
  DumpedHistoryRow,
  Holdings,
  MessageRow,
  SessionRow,
  TurnRow,
  UsageRow,
} from '../dump.ts';
import { unpackMove } from '../moves.ts';
import type { Grain } from '../usage.ts';
import { bucketsOf } from './budgets.ts';
import { RedisHistory } from './history.ts';
import { refuseUnfinished } from './importing.ts';
import { accountParts, byAccount, part, Roots } from './keys.ts';
import { withoutCharges } from '../records/charges.ts';
import { RedisLink } from './link.ts';
import { feedbackOf, readMessage } from './records.ts';
import { readReleaseCounts } from './releases.ts';
import { textOfReply, bytesOfReply, listOfReply } from './reply.ts';
import type { RedisReply } from './reply.ts';
import { loadScripts } from './scripts.ts';
import { callsOf } from './transcript.ts';
import { deliveryOf } from './webhooks.ts';

/** Sessions that are read at a time, and messages of each. */
const movingSessionsMax = 16;

/** A message with its place in the transcript. */
interface Placed {
  readonly index: number;
  readonly message: Message;
}

/** A session with its oldest messages, its newest, which alone may grow, and its turn in flight. */
interface Asked {
  readonly row: SessionRow;
  readonly oldest: readonly Placed[];
  readonly newest: readonly Placed[];
  readonly flight: TurnRow | null;
  readonly history: readonly DumpedHistoryRow[];
}

export class RedisSource implements DumpSource, Holdings {
  readonly name = 'redis';
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #history: RedisHistory;

  constructor(url: string, { clock, prefix }: { readonly clock: Clock; readonly prefix?: string }) {
    this.#link = new RedisLink(url, clock, loadScripts());
    this.#roots = new Roots(prefix);
    this.#history = new RedisHistory(this.#link, this.#roots);
  }

  async open(): Promise<void> {
    try {
      await this.#link.open();
      await refuseUnfinished(this.#link, this.#roots);
    } catch (error) {
      await this.#link.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#link.close();
  }

  rows(nowMs: number): AsyncIterable<DumpRow> {
    return dumpRows(this, nowMs);
  }

  async *records<K extends CatalogKind>(kind: K, workspaceId: string): AsyncGenerator<Versioned<CatalogRecords[K]>> {
    const root = kind === 'workspace' ? this.#roots.workspaces : this.#roots.workspace(workspaceId);
    for await (const ids of this.#ids(`${root}:${kind}:ids`, limits.movingRowsMax)) {
      const stored = await this.#fields(
        `${root}:${kind}`,
        ids.flatMap((id) => [id, `${id}/version`]),
      );
      for (let at = 0; at < stored.length; at += 2) {
        if (stored[at] === null) continue;
        yield {
          version: Number(textOfReply(stored[at + 1])),
          record: unpackRow<CatalogRecords[K]>(bytesOfReply(stored[at])),
        };
      }
    }
  }

  releaseCounts(workspaceId: string, assistantId: string): Promise<ReleaseCounts> {
    return readReleaseCounts(this.#link, this.#roots, workspaceId, assistantId);
  }

  async buckets(workspaceId: string, keyId: string): Promise<{ buckets: Buckets; usedAt: number | null }> {
    const root = this.#roots.workspace(workspaceId);
    const buckets = bucketsOf(await this.#fields(`${root}:budget:${part(keyId)}`, budgetNames));
    const [usedAt] = await this.#fields(`${root}:used`, [part(keyId)]);
    return { buckets, usedAt: usedAt == null ? null : Number(textOfReply(usedAt)) };
  }

  moves(kind: HistoryKind, workspaceId: string, id: string): Promise<readonly Move[]> {
    return this.#history.read(kind, workspaceId, id);
  }

  async *sessions(workspaceId: string): AsyncGenerator<SessionRow | DumpedHistoryRow | MessageRow | TurnRow> {
    const root = this.#roots.workspace(workspaceId);
    for await (const ids of this.#ids(`${root}:sessions`, movingSessionsMax)) {
      // All sessions at once, each with its first messages, because most conversations are short.
      const sessions = await Promise.all(ids.map((id) => this.#session(root, workspaceId, id)));
      for (const each of sessions) if (each !== null) yield* this.#rowsOf(root, each);
    }
  }

  async *memories(workspaceId: string): AsyncGenerator<IdempotencyRecord> {
    const root = this.#roots.workspace(workspaceId);
    const key = `${root}:memory-ends`;
    for (let end = 0, seen = 0; ;) {
      const range = [key, end, '+inf', 'WITHSCORES', 'LIMIT', seen, limits.movingRowsMax];
      const entries = ((await this.#link.send(key, 'ZRANGEBYSCORE', ...range)) as [RedisReply, number][]).map(
        ([name, ends]) => ({ name: textOfReply(name), ends }),
      );
      if (entries.length === 0) return;
      const stored = await this.#fields(
        `${root}:memories`,
        entries.map(({ name }) => name),
      );
      for (const [index, record] of stored.entries()) {
        if (record !== null)
          yield { ...unpackRow<IdempotencyRecord>(bytesOfReply(record)), untilMs: entries[index]!.ends };
      }
      const last = entries.at(-1)!.ends;
      seen = entries.filter(({ ends }) => ends === last).length + (last === end ? seen : 0);
      end = last;
    }
  }

  async *deliveries(workspaceId: string): AsyncGenerator<StoredDelivery> {
    const root = this.#roots.workspace(workspaceId);
    for await (const webhooks of this.#ids(`${root}:webhook:ids`, limits.webhooksMax)) {
      for (const webhookId of webhooks)
        yield* this.#deliveriesTo(`${root}:deliveries:${webhookId}`, workspaceId, webhookId);
    }
  }

  async *#deliveriesTo(key: string, workspaceId: string, webhookId: string): AsyncGenerator<StoredDelivery> {
    for await (const ids of this.#ids(`${key}:ids`, limits.movingRowsMax)) {
      const names = ids.flatMap((id) => [id, `${id}/state`, `${id}/session`, `${id}/source`]);
      const stored = await this.#fields(key, names);
      for (const [index, id] of ids.entries()) {
        const [event, state, session, source] = stored.slice(index * 4, index * 4 + 4);
        if (event == null) continue;
        yield {
          ...deliveryOf({ id, workspaceId, webhookId }, bytesOfReply(event), bytesOfReply(state)),
          sessionId: textOfReply(session),
          sourceId: textOfReply(source),
        };
      }
    }
  }

  async *usage(workspaceId: string): AsyncGenerator<UsageRow> {
    const root = this.#roots.workspace(workspaceId);
    const accounts = listOfReply(await this.#link.send(root, 'SMEMBERS', `${root}:usage`));
    for (const account of accounts.map(textOfReply).sort(byAccount)) {
      for await (const hour of this.#used(`${root}:usage:${account}`, workspaceId, account, 'hour')) {
        yield hour;
        yield* this.#used(`${root}:usage:${account}:${hour.start}`, workspaceId, account, 'second');
      }
    }
  }

  /** A session as it is now; null if it was removed. */
  async #session(root: string, workspaceId: string, id: string): Promise<Asked | null> {
    const answer = (await this.#link.run('dump-session', root, { session: id, count: movingSessionsMax })) as
      | RedisReply[]
      | null;
    if (answer === null) return null;
    const [record, version, withdrawn, oldest, newest, inFlight, moves] = answer as [
      Buffer,
      RedisReply,
      RedisReply,
      RedisReply[],
      RedisReply[],
      RedisReply[] | null,
      RedisReply[],
    ];
    const row: SessionRow = {
      type: 'session',
      version: Number(textOfReply(version)),
      record: unpackRow<Session>(record),
      withdrawn: withdrawn === null ? null : withdrawnOf(textOfReply(withdrawn)),
    };
    return {
      row,
      flight: inFlight === null ? null : flightOf(workspaceId, inFlight),
      oldest: oldest.map(placed),
      newest: newest.map(placed),
      history: historyRow(
        'session',
        workspaceId,
        row.record.id,
        moves.map((move) => unpackMove(bytesOfReply(move))),
      ),
    };
  }

  async *#rowsOf(
    root: string,
    { row, flight, oldest, newest, history }: Asked,
  ): AsyncGenerator<SessionRow | DumpedHistoryRow | MessageRow | TurnRow> {
    const { workspaceId, id } = row.record;
    yield row;
    yield* history;
    yield* this.#messages(root, workspaceId, id, oldest, flight);
    let next = (oldest.at(-1)?.index ?? -1) + 1;
    for await (const page of this.#between(root, id, next, newest[0]?.index ?? next)) {
      yield* this.#messages(root, workspaceId, id, page, flight);
      next = page.at(-1)!.index + 1;
    }
    yield* this.#messages(
      root,
      workspaceId,
      id,
      newest.filter(({ index }) => index >= next),
      flight,
    );
  }

  /** Messages, each turn after its own message. */
  async *#messages(
    root: string,
    workspaceId: string,
    sessionId: string,
    messages: readonly Placed[],
    flight: TurnRow | null,
  ): AsyncGenerator<MessageRow | TurnRow> {
    const turns = await this.#turns(root, workspaceId, sessionId, messages);
    for (const { index, message } of messages) {
      yield { type: 'message', workspaceId, sessionId, index, record: message };
      if (!answers(message)) continue;
      const turn = message.status === 'streaming' ? flight : turns.get(message.turnId);
      if (turn) yield turn;
    }
  }

  /** The messages from one index up to another, which no longer change. */
  async *#between(root: string, sessionId: string, from: number, to: number): AsyncGenerator<Placed[]> {
    const key = `${root}:messages:${sessionId}`;
    while (from < to) {
      const rows = listOfReply(
        await this.#link.send(key, 'ZRANGEBYSCORE', key, from, `(${to}`, 'LIMIT', 0, movingSessionsMax),
      );
      if (rows.length === 0) return;
      const page = rows.map(placed);
      yield page;
      from = page.at(-1)!.index + 1;
    }
  }

  /** The finished turns of these messages, by id. */
  async #turns(
    root: string,
    workspaceId: string,
    sessionId: string,
    messages: readonly Placed[],
  ): Promise<Map<string, TurnRow>> {
    const ids = messages.flatMap(({ message }) =>
      answers(message) && message.status !== 'streaming' ? [message.turnId] : [],
    );
    const stored = await this.#fields(
      `${root}:turns:${sessionId}`,
      ids.flatMap((id) => [part(id), `${part(id)}/begun`, `${part(id)}/finished`, `${part(id)}/feedback`]),
    );
    const turns = new Map<string, TurnRow>();
    for (const [index, id] of ids.entries()) {
      const [record, begun, finished, feedback] = stored.slice(index * 4, index * 4 + 4);
      if (record === null) continue;
      const row = {
        record: { ...unpackRow<Turn>(bytesOfReply(record)), ...feedbackOf(feedback!) },
        begun: answeredOf(textOfReply(begun)),
        finished: answeredOf(textOfReply(finished)),
      };
      turns.set(id, { type: 'turn', workspaceId, ...row, flight: null });
    }
    return turns;
  }

  /** Counts by their hour or second, as a hash stores them. */
  async *#used(key: string, workspaceId: string, account: string, grain: Grain): AsyncGenerator<UsageRow> {
    const starts = listOfReply(await this.#link.send(key, 'HKEYS', key))
      .map((each) => Number(textOfReply(each)))
      .sort((a, b) => a - b);
    for (let at = 0; at < starts.length; at += limits.movingRowsMax) {
      const page = starts.slice(at, at + limits.movingRowsMax);
      const stored = await this.#fields(key, page.map(String));
      for (const [index, counts] of stored.entries()) {
        if (counts !== null)
          yield usageRow(
            [workspaceId, ...accountParts(account)],
            grain,
            page[index]!,
            textOfReply(counts).split(',').map(Number),
          );
      }
    }
  }

  /** The members of an index in order. */
  async *#ids(key: string, count: number): AsyncGenerator<string[]> {
    for (let after = '-'; ;) {
      const members = listOfReply(await this.#link.send(key, 'ZRANGEBYLEX', key, after, '+', 'LIMIT', 0, count)).map(
        textOfReply,
      );
      if (members.length === 0) return;
      yield members;
      after = `(${members.at(-1)!}`;
    }
  }

  async #fields(key: string, names: readonly string[]): Promise<RedisReply[]> {
    return names.length === 0 ? [] : listOfReply(await this.#link.send(key, 'HMGET', key, ...names));
  }
}

const placed = (stored: RedisReply): Placed => {
  const { message, index } = readMessage(stored);
  return { index: Number(index), message };
};

/** Whether the message is the assistant's message of a turn. */
const answers = (message: Message): message is Message & { turnId: string } =>
  message.role === 'assistant' && message.turnId !== null;

/** Epoch, owner and version, in the form in which the scripts keep an answer. */
const answeredOf = (text: string): Answered => {
  const [epoch, owner, version] = text.split(' ') as [string, string, string];
  return { fence: { epoch: Number(epoch), owner }, version: Number(version) };
};

function withdrawnOf(text: string): SessionRow['withdrawn'] {
  const turnId = text.slice(0, text.indexOf(' '));
  return { turnId, ...answeredOf(text.slice(turnId.length + 1)) };
}

function flightOf(
  workspaceId: string,
  [record, begun, epoch, owner, stop, memory, calls, released]: RedisReply[],
): TurnRow {
  const made = callsOf(calls);
  const remembered = memory ? unpackRow<IdempotencyRecord>(bytesOfReply(memory)) : null;
  return {
    type: 'turn',
    workspaceId,
    record: withoutCharges(unpackRow<Turn>(bytesOfReply(record))),
    begun: answeredOf(textOfReply(begun)),
    finished: null,
    flight: {
      fence: { epoch: Number(textOfReply(epoch)), owner: textOfReply(owner) },
      stop: stop === null ? null : (textOfReply(stop) as StopRequest),
      remembered: remembered && { scope: remembered.scope, key: remembered.key },
      ...(released && { released: Number(textOfReply(released)) }),
      ...(made.length > 0 && { calls: made }),
    },
  };
}
