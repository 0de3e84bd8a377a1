/** Sessions and their messages. */
import { limits } from '../../limits.ts';
import type { Ids } from '../../ids.ts';
import type { Basis, CreateSession, IdempotencyRecord, Message, Move, Page, PageRequest, Session, SessionFilter, SessionStore, Versioned } from '../../store.ts';
import { unpackRow } from '../codec.ts';
import { moveField } from './history.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { basisFields, memoryFields, messageFields, sessionFields } from './records.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';
import type { Registry } from './registry.ts';
import { RedisTranscript } from './transcript.ts';

export class RedisSessions implements SessionStore {
  readonly #link: Link;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #ids: Ids;
  readonly #transcript: RedisTranscript;

  constructor(link: Link, roots: Roots, registry: Registry, ids: Ids) {
    this.#link = link;
    this.#roots = roots;
    this.#registry = registry;
    this.#ids = ids;
    this.#transcript = new RedisTranscript(link, roots);
  }

  async create(step: CreateSession): Promise<{ outcome: 'created'; version: number } | { outcome: 'remembered'; remembered: IdempotencyRecord }> {
    const { session, greeting, remember, nowMs } = step;
    await this.#registry.register(session.workspaceId);
    const [outcome, remembered] = (await this.#link.runDurable('create-session', this.#roots.workspace(session.workspaceId), {
      session: part(session.id),
      ...sessionFields(session),
      assistant: part(session.assistantId),
      created: session.createdAt,
      ...messageFields(greeting),
      ...memoryFields(session.workspaceId, remember, nowMs),
      ...moveField(step.move),
    })) as Reply[];
    if (textOf(outcome) === 'created') return { outcome: 'created', version: 1 };
    return { outcome: 'remembered', remembered: unpackRow<IdempotencyRecord>(remembered as Buffer) };
  }

  async read(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    const root = this.#roots.workspace(workspaceId);
    const [record, version] = (await this.#link.send(root, 'HMGET', `${root}:session:${part(sessionId)}`, 'record', 'version')) as Reply[];
    return record === null ? null : { record: unpackRow<Session>(record as Buffer), version: Number(textOf(version)) };
  }

  async save(session: Session, basis: Basis, move?: Move): Promise<number | null> {
    const root = this.#roots.workspace(session.workspaceId);
    const given = { session: part(session.id), ...basisFields(basis), ...sessionFields(session), write: this.#ids.secret(), ...moveField(move) };
    return (await this.#link.runDurable('save-session', root, given)) as number | null;
  }

  async list(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>> {
    const indexes = filter.assistantIds === null ? [':sessions'] : [...new Set(filter.assistantIds)].map((id) => `:sessions:${part(id)}`);
    if (indexes.length === 0) return { items: [], next: null };
    const items: Session[] = [];
    const wanted = page.limit + 1;
    for (let after = page.after === null ? '' : part(page.after); items.length < wanted; ) {
      const [bound, records] = (await this.#link.run('sessions', this.#roots.workspace(workspaceId), {
        order: page.order,
        after,
        wanted: wanted - items.length,
        looks: limits.scanRowsMax,
        since: filter.activeSince,
        status: filter.status ?? '',
        time: filter.now,
        indexes,
      })) as [Reply, Reply[]];
      for (const record of records) items.push(unpackRow<Session>(record as Buffer));
      if (bound === null) break;
      after = textOf(bound);
    }
    if (items.length < wanted) return { items, next: null };
    items.pop();
    return { items, next: items.at(-1)!.id };
  }

  messages(workspaceId: string, sessionId: string, page: PageRequest): Promise<Page<Message>> {
    return this.#transcript.page(workspaceId, sessionId, page);
  }

  recentMessages(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]> {
    return this.#transcript.recent(workspaceId, sessionId, before, charactersMax, messagesMax);
  }
}
