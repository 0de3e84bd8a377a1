/** The attendance of sessions, and the sessions at the desk of a workspace (contract 23). */
import type { Ids } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { unpackRow } from '../codec.ts';
import { isUncounted } from '../records.ts';
import { isAtDesk } from '../records/attendance.ts';
import type {
  AttendSession,
  AttendedSession,
  DeskStore,
  IdempotencyRecord,
  Notice,
  Page,
  PageRequest,
  Session,
} from '../store.ts';
import { auditFields, RedisAudit } from './audit.ts';
import type { DueWorkspaces } from './due-workspaces.ts';
import { account, part } from './keys.ts';
import type { Roots } from './keys.ts';
import { answersOf, askedFields } from './limits.ts';
import type { RedisLink } from './link.ts';
import type { RedisOrphans } from './orphans.ts';
import { amendsField, attendanceFields, basisFields, memoryFields, messageFields, sessionFields } from './records.ts';
import type { Registry } from './registry.ts';
import { begins, nameOf } from './reply.ts';

export class RedisDesk implements DeskStore {
  readonly #link: RedisLink;
  readonly #roots: Roots;
  readonly #attended: Registry;
  readonly #orphans: RedisOrphans;
  readonly #ids: Ids;
  readonly #due: DueWorkspaces;
  readonly #audit: RedisAudit;

  /** `attended`: the list on which a workspace is registered before a session of it comes to the desk. */
  constructor(link: RedisLink, roots: Roots, attended: Registry, orphans: RedisOrphans, ids: Ids, due: DueWorkspaces) {
    this.#link = link;
    this.#roots = roots;
    this.#attended = attended;
    this.#orphans = orphans;
    this.#ids = ids;
    this.#due = due;
    this.#audit = new RedisAudit(link, roots);
  }

  async attend(step: AttendSession): Promise<AttendedSession> {
    const { session, messages, silences, counts, remember, nowMs } = step;
    const { id: sessionId, workspaceId, assistantId, keyId } = session;
    if (step.audit !== undefined) await this.#audit.note(step.audit);
    await this.#attended.register(workspaceId);
    const lease = silences === undefined ? 0 : silences.leaseUntilMs - nowMs;
    if (silences !== undefined) this.#orphans.noteLease(workspaceId, lease);
    const sent = this.#link.runDurable('attend-session', this.#roots.workspace(workspaceId), {
      session: part(sessionId),
      ...basisFields(step),
      ...sessionFields(session),
      desk: isAtDesk(session) ? 1 : '',
      write: this.#ids.secret(),
      ...memoryFields(remember, nowMs),
      first: session.messageCount - messages.length,
      amends: amendsField(step.amends),
      silences: silences === undefined ? '' : part(silences.turnId),
      lease,
      channel: this.#roots.channel('notices'),
      notice: silences === undefined ? '' : stopNotice(session, silences.turnId, lease),
      account: isUncounted(session) ? '' : account(assistantId, keyId),
      countedAt: Math.floor(nowMs / 1000),
      people: counts === undefined ? '' : (counts.personMessages ?? 0),
      handovers: counts?.handovers ?? 0,
      ...auditFields(step.audit),
      ...attendanceFields(step.reports === undefined ? null : session, step.reports ?? '', nowMs),
      messages: messages.length,
      rest: [
        ...messages.flatMap((message) => Object.values(messageFields(message))),
        ...askedFields(step.asked, nowMs),
      ],
    });
    const answer = await (step.reports === undefined ? sent : sent.finally(() => this.#due.ended(workspaceId)));
    if (begins(answer, 'stored')) return { outcome: 'stored', version: answer[1] };
    if (begins(answer, 'remembered'))
      return { outcome: 'remembered', remembered: unpackRow<IdempotencyRecord>(answer[1]) };
    if (begins(answer, 'limited')) {
      const [, ...answers] = answer;
      return { outcome: 'limited', answers: answersOf(answers) };
    }
    return { outcome: nameOf(answer[0]) };
  }

  async list(workspaceId: string, { limit, after, order }: PageRequest): Promise<Page<Session>> {
    const records = await this.#link.run('list-desk', this.#roots.workspace(workspaceId), {
      order,
      after: after === null ? '' : part(after),
      count: limit + 1,
    });
    const items = records.slice(0, limit).map((record) => unpackRow<Session>(record));
    return { items, next: records.length > limit ? (items.at(-1)?.id ?? null) : null };
  }

  async workspaces(): Promise<readonly string[]> {
    const registered = await this.#attended.all();
    const kept: string[] = [];
    for (const { workspaceId, stale } of registered) {
      if (stale && (await this.list(workspaceId, { limit: 1, after: null, order: 'asc' })).items.length === 0)
        await this.#attended.unregister(workspaceId);
      else kept.push(workspaceId);
    }
    return kept;
  }
}

/** The notice of a request to stop the turn. */
const stopNotice = ({ id: sessionId, workspaceId }: Session, turnId: string, leaseMs: number): string =>
  JSON.stringify({
    type: 'turn.stop',
    workspaceId,
    sessionId,
    turnId,
    reason: 'taken',
    leaseMs: Math.min(leaseMs, limits.leaseMs),
  } satisfies Notice & { readonly leaseMs: number });
