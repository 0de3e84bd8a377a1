/** Sessions and their messages. */
import { isUncounted } from '../records.ts';
import { limits } from '../../base/limits.ts';
import type { Ids } from '../../base/ids.ts';
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
  Notice,
  Page,
  PageRequest,
  Session,
  SessionFilter,
  SessionStore,
  SettledLimit,
  Versioned,
} from '../store.ts';
import { unpackRow } from '../codec.ts';
import { matchesRecord, spanOf } from '../sessions.ts';
import { auditFields, RedisAudit } from './audit.ts';
import type { DueWorkspaces } from './due-workspaces.ts';
import { moveField } from './history.ts';
import { account, memoryDigest, part } from './keys.ts';
import type { Roots } from './keys.ts';
import { answersOf, askedFields, settledFields } from './limits.ts';
import type { RedisLink } from './link.ts';
import { basisFields, endingFields, memoryFields, messageFields, sessionFields, versionFields } from './records.ts';
import { begins, nameOf, textOfReply, bytesOfReply, listOfReply } from './reply.ts';
import type { Registry } from './registry.ts';
import { RedisTranscript } from './transcript.ts';

export class RedisSessions implements SessionStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #ids: Ids;
  readonly #due: DueWorkspaces;
  readonly #transcript: RedisTranscript;
  readonly #audit: RedisAudit;

  constructor(link: RedisLink, roots: Roots, registry: Registry, ids: Ids, due: DueWorkspaces) {
    this.#link = link;
    this.#due = due;
    this.#roots = roots;
    this.#registry = registry;
    this.#ids = ids;
    this.#transcript = new RedisTranscript(link, roots);
    this.#audit = new RedisAudit(link, roots);
  }

  async create(step: CreateSession): Promise<CreatedSession> {
    const { session, greeting, earlier = [], remember, trialsMax, nowMs } = step;
    if (step.audit !== undefined) await this.#audit.note(step.audit);
    await this.#registry.register(session.workspaceId);
    const answer = await this.#link.runDurable('create-session', this.#roots.workspace(session.workspaceId), {
      session: part(session.id),
      ...sessionFields(session),
      ...versionFields(session, session.assistantVersion),
      account: account(session.assistantId, session.keyId),
      created: session.createdAt,
      ...messageFields(greeting),
      ...memoryFields(remember, nowMs),
      replaces: step.replaces ?? '',
      trials: session.channel === 'console' ? (trialsMax ?? Number.MAX_SAFE_INTEGER) : '',
      uncounted: isUncounted(session) ? 1 : '',
      revision: step.release?.revision ?? '',
      run: step.run === undefined ? '' : part(step.run),
      ...moveField(step.move),
      ...auditFields(step.audit),
      earlier: earlier.flatMap((each) => Object.values(messageFields(each))),
    });
    if (begins(answer, 'remembered'))
      return { outcome: 'remembered', remembered: unpackRow<IdempotencyRecord>(answer[1]) };
    return begins(answer, 'created') ? { outcome: 'created', version: 1 } : { outcome: nameOf(answer[0]) };
  }

  async read(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    const root = this.#roots.workspace(workspaceId);
    const [record, version] = listOfReply(
      await this.#link.send(root, 'HMGET', `${root}:session:${part(sessionId)}`, 'record', 'version'),
    );
    return record === null
      ? null
      : { record: unpackRow<Session>(bytesOfReply(record)), version: Number(textOfReply(version)) };
  }

  async awaitMove(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    const notice = JSON.stringify({ type: 'session.moved', workspaceId, sessionId } satisfies Notice);
    const answer = await this.#link.run('await-session', this.#roots.workspace(workspaceId), {
      session: part(sessionId),
      channel: this.#roots.channel('notices'),
      notice,
    });
    if (answer === null) return null;
    const [record, version] = answer;
    return { record: unpackRow<Session>(record), version: Number(textOfReply(version)) };
  }

  async save(
    session: Session,
    basis: Basis,
    move?: Move,
    settled: readonly SettledLimit[] = [],
    nowMs = 0,
    audit?: AuditEntry,
  ): Promise<number | null> {
    if (audit !== undefined) await this.#audit.note(audit);
    const root = this.#roots.workspace(session.workspaceId);
    const fields = {
      session: part(session.id),
      ...basisFields(basis),
      ...sessionFields(session),
      write: this.#ids.secret(),
      ...moveField(move),
      ...auditFields(audit),
      ...endingFields(session, nowMs),
      settled: settledFields(settled, nowMs),
    };
    const saved = this.#link.runDurable('save-session', root, fields);
    return fields.sessionEvent === '' ? saved : saved.finally(() => this.#due.ended(session.workspaceId));
  }

  async charge({ session, asked, nowMs, ...basis }: ChargeSession): Promise<ChargedSession> {
    const root = this.#roots.workspace(session.workspaceId);
    const moved = { session: part(session.id), ...basisFields(basis), ...sessionFields(session) };
    const fields = { ...moved, write: this.#ids.secret(), asked: askedFields(asked, nowMs) };
    const answer = await this.#link.runDurable('charge-session', root, fields);
    if (begins(answer, 'charged')) return { outcome: 'charged', version: answer[1] };
    if (begins(answer, 'limited')) {
      const [, ...answers] = answer;
      return { outcome: 'limited', answers: answersOf(answers) };
    }
    return { outcome: nameOf(answer[0]) };
  }

  async discard(
    session: Session,
    basis: Basis,
    remembered: Pick<IdempotencyRecord, 'scope' | 'key'> | null,
  ): Promise<boolean> {
    const { id, workspaceId, assistantId, keyId, createdAt } = session;
    const memory = remembered === null ? '' : memoryDigest(remembered.scope, remembered.key);
    const counted = isUncounted(session) ? '' : account(assistantId, keyId);
    const fields = {
      session: part(id),
      ...basisFields(basis),
      account: counted,
      created: createdAt,
      memory,
      result: id,
      ...versionFields(session, session.assistantVersion),
    };
    return (await this.#link.runDurable('discard-session', this.#roots.workspace(workspaceId), fields)) === 1;
  }

  async list(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>> {
    const indexes =
      filter.assistantIds === null
        ? [':sessions']
        : [...new Set(filter.assistantIds)].map((id) => `:sessions:${part(id)}`);
    if (indexes.length === 0) return { items: [], next: null };
    const items: Session[] = [];
    const wanted = page.limit + 1;
    const span = spanOf(filter, page.order, page.after === null ? null : part(page.after));
    for (let after = span.after ?? ''; items.length < wanted;) {
      const [bound, records] = await this.#link.run('list-sessions', this.#roots.workspace(workspaceId), {
        order: page.order,
        after,
        wanted: stepLimit(filter, wanted - items.length),
        looks: limits.scanRowsMax,
        since: filter.activeSince,
        status: filter.status ?? '',
        time: filter.now,
        indexes,
      });
      for (const record of records) {
        const session = unpackRow<Session>(record);
        if (matchesRecord(session, filter)) items.push(session);
      }
      if (bound === null) break;
      after = textOfReply(bound);
      if (span.isPast(after)) break;
    }
    if (items.length < wanted) return { items, next: null };
    items.length = page.limit;
    return { items, next: items.at(-1)?.id ?? null };
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
}

/**
 * Number of sessions that one step returns: more than are wanted if the record's filter will leave out most of them.
 */
const stepLimit = (
  { channels, keyId, visitorId, createdFrom, createdBefore, beginning }: SessionFilter,
  wanted: number,
): number => {
  const narrow =
    channels?.length === 1 || [keyId, visitorId, createdFrom, createdBefore, beginning].some((each) => each != null);
  return narrow ? Math.max(wanted, limits.listMax) : wanted;
};
