/** Sessions and remembered requests. */
import { limits } from '../../limits.ts';
import type { Ids } from '../../ids.ts';
import type { Basis, CreateSession, Page, PageRequest, Remembered, Session, SessionFilter, Versioned } from '../../store.ts';
import { unpackRow } from '../codec.ts';
import { memoryOf, part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { basisFields, memoryFields, messageFields, sessionFields } from './records.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';
import type { Runner } from './runner.ts';
import type { Registry } from './registry.ts';

export class RedisSessions {
  readonly #link: Link;
  readonly #durable: Runner;
  readonly #roots: Roots;
  readonly #registry: Registry;
  readonly #ids: Ids;

  constructor(link: Link, durable: Runner, roots: Roots, registry: Registry, ids: Ids) {
    this.#link = link;
    this.#durable = durable;
    this.#roots = roots;
    this.#registry = registry;
    this.#ids = ids;
  }

  async create(step: CreateSession): Promise<{ outcome: 'created'; version: number } | { outcome: 'remembered'; remembered: Remembered }> {
    const { session, greeting, remember, nowMs } = step;
    await this.#registry.register(session.workspaceId);
    const [outcome, remembered] = (await this.#durable(
      'create-session',
      this.#roots.workspace(session.workspaceId),
      ...[part(session.id), ...sessionFields(session), part(session.assistantId), session.createdAt],
      ...messageFields(greeting),
      ...memoryFields(session.workspaceId, remember, nowMs),
    )) as Reply[];
    if (textOf(outcome) === 'created') return { outcome: 'created', version: 1 };
    return { outcome: 'remembered', remembered: unpackRow<Remembered>(remembered as Buffer) };
  }

  async read(workspaceId: string, sessionId: string): Promise<Versioned<Session> | null> {
    const root = this.#roots.workspace(workspaceId);
    const [record, version] = (await this.#link.send(root, 'HMGET', `${root}:session:${part(sessionId)}`, 'record', 'version')) as Reply[];
    return record === null ? null : { record: unpackRow<Session>(record as Buffer), version: Number(textOf(version)) };
  }

  async save(session: Session, basis: Basis): Promise<number | null> {
    const root = this.#roots.workspace(session.workspaceId);
    const given = [part(session.id), ...basisFields(basis), ...sessionFields(session), this.#ids.secret()];
    return (await this.#link.run('save-session', root, ...given)) as number | null;
  }

  async list(workspaceId: string, filter: SessionFilter, page: PageRequest): Promise<Page<Session>> {
    const indexes = filter.assistantIds === null ? [':sessions'] : [...new Set(filter.assistantIds)].map((id) => `:sessions:${part(id)}`);
    if (indexes.length === 0) return { items: [], next: null };
    const items: Session[] = [];
    const wanted = page.limit + 1;
    for (let after = page.after === null ? '' : part(page.after); items.length < wanted; ) {
      const [bound, records] = (await this.#link.run(
        'sessions',
        this.#roots.workspace(workspaceId),
        ...[page.order, after, wanted - items.length, limits.scanRowsMax, filter.activeSince, filter.status ?? '', filter.now],
        ...indexes,
      )) as [Reply, Reply[]];
      for (const record of records) items.push(unpackRow<Session>(record as Buffer));
      if (bound === null) break;
      after = textOf(bound);
    }
    if (items.length < wanted) return { items, next: null };
    items.pop();
    return { items, next: items.at(-1)!.id };
  }

  async remembered(workspaceId: string, scope: string, key: string): Promise<Remembered | null> {
    const record = await this.#link.run('remembered', this.#roots.workspace(workspaceId), memoryOf(workspaceId, scope, key));
    return record === null ? null : unpackRow<Remembered>(record as Buffer);
  }
}
