/** Sessions: their rows, their index rows, lists of them, and their messages. */
import { secondsOf } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type {
  AuditEntry,
  Basis,
  ChargedSession,
  ChargeSession,
  CreatedSession,
  CreateSession,
  IdempotencyRecord,
  Message,
  Move,
  Page,
  PageRequest,
  Session,
  SessionFilter,
  SessionStore,
  SettledLimit,
  Versioned,
} from '../store.ts';
import { isOdd } from '../codec.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { isAtDesk } from '../records/attendance.ts';
import { matchesFilter, spanOf } from '../sessions.ts';
import { putAudit } from './audit.ts';
import { putMove } from './history.ts';
import { dropDelivery } from './deliveries.ts';
import * as keys from './keys.ts';
import type { EmbeddedLimits } from './limits.ts';
import type { Memories } from './memories.ts';
import type { Notices } from './notices.ts';
import { span } from './pages.ts';
import type { EmbeddedReleases } from './releases.ts';
import type { DeskRow, StoredSession } from './rows.ts';
import { EmbeddedTranscript } from './transcript.ts';
import type { UsageBook } from './usage.ts';
import type { EmbeddedWebhooks } from './webhooks.ts';

/** Whether the session still has the version and mark that a decision was based on. */
export const unmoved = (row: StoredSession | undefined, { version, mark }: Basis): row is StoredSession =>
  row?.version === version && (mark === undefined || row.session.mark === mark);

/** Replaces the stored session. */
export function putSession(draft: Draft, before: StoredSession | null, row: StoredSession): void {
  const { id, workspaceId, assistantId, lastActivityAt, channel, machine } = row.session;
  if (before === null) draft.put(keys.assistantSessions(workspaceId, assistantId) + keys.part(id), id);
  if (before?.session.lastActivityAt !== lastActivityAt) {
    if (before !== null) draft.remove(keys.activeAt(workspaceId, before.session.lastActivityAt) + keys.part(id));
    draft.put(keys.activeAt(workspaceId, lastActivityAt) + keys.part(id), id);
  }
  if (channel === 'console') {
    const trial = keys.trials(workspaceId) + keys.part(id);
    if (machine.state === 'ended' || machine.state === 'expired') draft.remove(trial);
    else if (before === null) draft.put(trial, row.session.expiresAt);
  }
  const isNow = isAtDesk(row.session);
  if (isNow !== (before !== null && isAtDesk(before.session))) {
    const key = keys.deskOf(workspaceId) + keys.part(id);
    if (isNow) draft.put(key, { workspaceId, sessionId: id } satisfies DeskRow);
    else draft.remove(key);
  }
  draft.keep(keys.session(workspaceId, id), row, isOdd(row.session) ? 'odd' : 'session');
}

/** Removes the session's own row and its index rows: nobody finds the session afterwards. */
export function hideSession(draft: Draft, { session }: StoredSession): void {
  const { id, workspaceId, assistantId, lastActivityAt, channel } = session;
  draft.remove(keys.activeAt(workspaceId, lastActivityAt) + keys.part(id));
  draft.remove(keys.assistantSessions(workspaceId, assistantId) + keys.part(id));
  draft.remove(keys.session(workspaceId, id));
  draft.remove(keys.deadline(session));
  if (channel === 'console') draft.remove(keys.trials(workspaceId) + keys.part(id));
  if (isAtDesk(session)) draft.remove(keys.deskOf(workspaceId) + keys.part(id));
}

/** Removes a session with its contents. */
export function removeSession(draft: Draft, batcher: WriteBatcher, row: StoredSession): void {
  const { id, workspaceId } = row.session;
  hideSession(draft, row);
  for (const prefix of keys.belongings(workspaceId, id)) {
    for (const [key, value] of batcher.range(prefix, keys.endOf(prefix))) {
      draft.remove(key);
      if (prefix.startsWith('delivery-of/')) dropDelivery(draft, batcher, value as string);
    }
  }
}

export class EmbeddedSessions implements SessionStore {
  readonly #batcher: WriteBatcher;
  readonly #memories: Memories;
  readonly #usage: UsageBook;
  readonly #limits: EmbeddedLimits;
  readonly #webhooks: EmbeddedWebhooks;
  readonly #notices: Notices;
  readonly #releases: EmbeddedReleases;
  readonly #transcript: EmbeddedTranscript;

  constructor(
    batcher: WriteBatcher,
    memories: Memories,
    usage: UsageBook,
    limits: EmbeddedLimits,
    webhooks: EmbeddedWebhooks,
    notices: Notices,
    releases: EmbeddedReleases,
  ) {
    this.#releases = releases;
    this.#notices = notices;
    this.#limits = limits;
    this.#webhooks = webhooks;
    this.#batcher = batcher;
    this.#memories = memories;
    this.#usage = usage;
    this.#transcript = new EmbeddedTranscript(batcher);
  }

  create(step: CreateSession): Promise<CreatedSession> {
    const { session, greeting, earlier = [], remember, run } = step;
    const messages = greeting === null ? earlier : [greeting, ...earlier];
    return this.#batcher.step((draft) => {
      if (this.#batcher.get(keys.session(session.workspaceId, session.id)) !== undefined)
        return { outcome: 'created', version: 1 };
      if (remember !== null) {
        const remembered = this.#memories.newest(session.workspaceId, remember.scope, remember.key, step.nowMs);
        if (remembered !== null && remembered.resultId !== step.replaces) return { outcome: 'remembered', remembered };
      }
      if (
        session.channel === 'console' &&
        this.#openTrials(draft, session.workspaceId, step.nowMs) >= (step.trialsMax ?? Infinity)
      )
        return { outcome: 'full' };
      if (this.#releases.isOutdated(session.workspaceId, step.release)) return { outcome: 'outdated' };
      if (run !== undefined) {
        const name = keys.named(session.workspaceId, { kind: 'test_run', id: run });
        if (this.#batcher.get(name) === undefined) return { outcome: 'gone' };
      }
      if (remember !== null) this.#memories.put(draft, session.workspaceId, remember);
      putSession(draft, null, { session, version: 1, withdrawn: null });
      putMove(draft, 'session', session.workspaceId, session.id, step.move);
      this.#webhooks.putDeadline(draft, session);
      putAudit(draft, step.audit);
      for (const [index, message] of messages.entries())
        draft.put(keys.message(session.workspaceId, session.id, index), message, 'message');
      this.#usage.countIn(draft, session, session.createdAt, { sessions: 1 });
      this.#releases.countSession(draft, session, 1);
      return { outcome: 'created', version: 1 };
    });
  }

  /** Counts the trials that are open, and removes the rows of those that have expired. */
  #openTrials(draft: Draft, workspaceId: string, nowMs: number): number {
    const prefix = keys.trials(workspaceId);
    const rows = this.#batcher.range<number>(prefix, keys.endOf(prefix));
    const overdue = rows.filter(([, expiresAt]) => expiresAt <= secondsOf(nowMs));
    for (const [key] of overdue) draft.remove(key);
    return rows.length - overdue.length;
  }

  async read(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    const row = this.#batcher.committed<StoredSession>(keys.session(workspaceId, sessionId));
    return row === undefined ? null : { record: row.session, version: row.version };
  }

  /** Sees every step that was decided before; each step after it finds the session followed. */
  awaitMove(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    return this.#batcher.step(() => {
      const row = this.#batcher.get<StoredSession>(keys.session(workspaceId, sessionId));
      if (row === undefined) return null;
      this.#notices.awaitSession(workspaceId, sessionId);
      return { record: row.session, version: row.version };
    });
  }

  save(
    session: Session,
    basis: Basis,
    move?: Move,
    settled: readonly SettledLimit[] = [],
    nowMs = 0,
    audit?: AuditEntry,
  ): Promise<number | null> {
    const decided = this.#batcher.step((draft) => {
      const before = this.#batcher.get<StoredSession>(keys.session(session.workspaceId, session.id));
      if (!unmoved(before, basis)) return null;
      const version = basis.version + 1;
      putSession(draft, before, { ...before, session, version });
      this.#limits.settleIn(draft, session.workspaceId, settled, nowMs);
      putMove(draft, 'session', session.workspaceId, session.id, move);
      putAudit(draft, audit);
      this.#webhooks.putSessionEnd(draft, before, session, nowMs);
      return version;
    });
    return this.#notices.tellMove(session, decided, isVersion);
  }

  charge({ session, asked, nowMs, ...basis }: ChargeSession): Promise<ChargedSession> {
    const decided = this.#batcher.step((draft): ChargedSession => {
      const before = this.#batcher.get<StoredSession>(keys.session(session.workspaceId, session.id));
      if (!unmoved(before, basis)) return { outcome: 'lost' };
      const answers = this.#limits.takeIn(draft, session.workspaceId, asked, nowMs);
      if (answers.some(({ passed }) => !passed)) return { outcome: 'limited', answers };
      const version = basis.version + 1;
      putSession(draft, before, { ...before, session, version });
      return { outcome: 'charged', version };
    });
    return this.#notices.tellMove(session, decided, isCharged);
  }

  discard(
    { workspaceId, id }: Session,
    basis: Basis,
    remembered: Pick<IdempotencyRecord, 'scope' | 'key'> | null,
  ): Promise<boolean> {
    const decided = this.#batcher.step((draft) => {
      const row = this.#batcher.get<StoredSession>(keys.session(workspaceId, id));
      if (row === undefined) return true;
      const flights = keys.sessionFlights(workspaceId, id);
      if (!unmoved(row, basis) || this.#batcher.range(flights, keys.endOf(flights), 1).length > 0) return false;
      removeSession(draft, this.#batcher, row);
      if (remembered !== null)
        this.#memories.forget(draft, keys.memory(workspaceId, remembered.scope, remembered.key), id);
      this.#usage.countIn(draft, row.session, row.session.createdAt, { sessions: -1 });
      this.#releases.countSession(draft, row.session, -1);
      return true;
    });
    return this.#notices.tellMove({ workspaceId, id }, decided, Boolean);
  }

  /** Reads sessions until the page is full; pauses for other requests while a filter leaves many sessions out. */
  async list(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>> {
    const items: Session[] = [];
    const span = spanOf(filter, page.order, page.after === null ? null : keys.part(page.after));
    let { after } = span;
    for (let more = true; more;) {
      more = false;
      let looked = 0;
      for (const session of this.#from(workspaceId, filter.assistantIds, after, page.order)) {
        after = keys.part(session.id);
        if (span.isPast(after)) return { items, next: null };
        if (matchesFilter(session, filter)) {
          if (items.length === page.limit) return { items, next: items.at(-1)?.id ?? null };
          items.push(session);
        }
        if (++looked < limits.scanRowsMax) continue;
        more = true;
        break;
      }
      if (more) await this.#batcher.pause();
    }
    return { items, next: null };
  }

  messages(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>> {
    return this.#transcript.page(workspaceId, sessionId, page);
  }

  recentMessages(
    workspaceId: string,
    sessionId: string,
    before: number,
    charactersMax: number,
    messagesMax: number,
  ): Promise<Message[]> {
    return this.#transcript.recent(workspaceId, sessionId, before, charactersMax, messagesMax);
  }

  *#from(
    workspaceId: string,
    assistantIds: readonly string[] | null,
    cursor: string | null,
    order: PageRequest['order'],
  ): Generator<Session> {
    if (assistantIds === null) {
      const [from, to] = span(keys.sessions(workspaceId), cursor, order);
      for (const [, row] of this.#batcher.scan<StoredSession>(from, to, order === 'desc')) yield row.session;
      return;
    }
    const ids = [...new Set(assistantIds)].map((assistantId) => {
      const [from, to] = span(keys.assistantSessions(workspaceId, assistantId), cursor, order);
      return this.#batcher.scan<string>(from, to, order === 'desc');
    });
    for (const id of merged(ids, order)) {
      const row = this.#batcher.committed<StoredSession>(keys.session(workspaceId, id));
      if (row !== undefined) yield row.session;
    }
  }
}

const isVersion = (version: number | null): boolean => version !== null;
const isCharged = ({ outcome }: ChargedSession): boolean => outcome === 'charged';

/** Merges the ids of several indexes in order. */
function* merged(indexes: Generator<[string, string]>[], order: PageRequest['order']): Generator<string> {
  const heads = indexes.map((index) => ({ index, head: index.next() })).filter(({ head }) => head.done !== true);
  const before = (a: string, b: string): boolean => (order === 'asc' ? a < b : a > b);
  const idOf = (at: number): string => keys.lastPart((heads[at]!.head.value as [string, string])[0]);
  try {
    while (heads.length > 0) {
      let first = 0;
      for (let at = 1; at < heads.length; at++) if (before(idOf(at), idOf(first))) first = at;
      const { index, head } = heads[first]!;
      yield (head.value as [string, string])[1];
      heads[first]!.head = index.next();
      if (heads[first]!.head.done === true) heads.splice(first, 1);
    }
  } finally {
    for (const { index } of heads) index.return(undefined);
  }
}
