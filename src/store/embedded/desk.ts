/** The attendance of sessions, and the sessions at the desk of a workspace (contract 23). */
import type { AttendSession, AttendedSession, DeskStore, Page, PageRequest, Session } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import { secondsOf } from '../../base/clock.ts';
import { amendMessage } from './amend.ts';
import { putAudit } from './audit.ts';
import type { Flights } from './flights.ts';
import * as keys from './keys.ts';
import type { EmbeddedLimits } from './limits.ts';
import type { Memories } from './memories.ts';
import type { Notices } from './notices.ts';
import { pageOf, span } from './pages.ts';
import type { DeskRow, StoredSession } from './rows.ts';
import { putSession, unmoved } from './sessions.ts';
import type { UsageBook } from './usage.ts';
import type { EmbeddedWebhooks } from './webhooks.ts';

export interface EmbeddedDeskParts {
  readonly batcher: WriteBatcher;
  readonly flights: Flights;
  readonly memories: Memories;
  readonly usage: UsageBook;
  readonly limits: EmbeddedLimits;
  readonly webhooks: EmbeddedWebhooks;
  readonly notices: Notices;
}

export class EmbeddedDesk implements DeskStore {
  readonly #parts: EmbeddedDeskParts;

  constructor(parts: EmbeddedDeskParts) {
    this.#parts = parts;
  }

  attend(step: AttendSession): Promise<AttendedSession> {
    const { batcher, memories, limits, usage, webhooks, notices } = this.#parts;
    const { session, messages, remember, nowMs } = step;
    const { workspaceId, id } = session;
    let isSilenced = false;
    const decided = batcher.step<AttendedSession>((draft) => {
      const remembered = remember && memories.newest(workspaceId, remember.scope, remember.key, nowMs);
      if (remembered) return { outcome: 'remembered', remembered };
      const before = batcher.get<StoredSession>(keys.session(workspaceId, id));
      if (!unmoved(before, step)) return { outcome: 'lost' };
      const answers = step.asked === undefined ? [] : limits.takeIn(draft, workspaceId, step.asked, nowMs);
      if (answers.some(({ passed }) => !passed)) return { outcome: 'limited', answers };
      const version = step.version + 1;
      if (remember !== null) memories.put(draft, workspaceId, remember);
      putSession(draft, before, { ...before, session, version });
      const first = session.messageCount - messages.length;
      for (const [at, message] of messages.entries())
        draft.put(keys.message(workspaceId, id, first + at), message, 'message');
      amendMessage(draft, batcher, { workspaceId, sessionId: id }, step.amends);
      if (step.silences !== undefined) isSilenced = this.#silence(draft, session, step.silences);
      putAudit(draft, step.audit);
      if (step.counts !== undefined) usage.countIn(draft, session, secondsOf(nowMs), step.counts);
      if (step.reports !== undefined) webhooks.putAttendance(draft, session, step.reports, nowMs);
      return { outcome: 'stored', version };
    });
    const told = notices.tellMove(session, decided, ({ outcome }) => outcome === 'stored');
    const tellStop = (): void => {
      if (!isSilenced) return;
      const { turnId } = step.silences!;
      notices.send({ type: 'turn.stop', workspaceId, sessionId: id, turnId, reason: 'taken' });
    };
    told.then(tellStop, () => {});
    return told;
  }

  /** Returns whether the turn is in flight. */
  #silence(
    draft: Draft,
    { workspaceId, id: sessionId }: Session,
    { turnId, leaseUntilMs }: AttendSession['silences'] & {},
  ): boolean {
    const { flights } = this.#parts;
    const flight = flights.get({ workspaceId, sessionId, turnId });
    if (flight === undefined) return false;
    const { row, ...output } = flight;
    const silent = { ...row, stop: 'taken' as const, leaseUntilMs: Math.min(row.leaseUntilMs, leaseUntilMs) };
    draft.put(keys.flight(row.place), silent, 'flight');
    flights.set({ row: silent, ...output });
    return true;
  }

  async list(workspaceId: string, page: PageRequest): Promise<Page<Session>> {
    const { batcher } = this.#parts;
    const after = page.after === null ? null : keys.part(page.after);
    const [from, to] = span(keys.deskOf(workspaceId), after, page.order);
    const sessions = (function* () {
      for (const [, { sessionId }] of batcher.scan<DeskRow>(from, to, page.order === 'desc')) {
        const row = batcher.committed<StoredSession>(keys.session(workspaceId, sessionId));
        if (row !== undefined) yield row.session;
      }
    })();
    return pageOf(sessions, page.limit, ({ id }) => id);
  }

  async workspaces(): Promise<readonly string[]> {
    const { batcher } = this.#parts;
    const found: string[] = [];
    for (let from: string = keys.desk; ;) {
      const [next] = batcher.range<DeskRow>(from, keys.endOf(keys.desk), 1);
      if (next === undefined) return found;
      const { workspaceId } = next[1];
      found.push(workspaceId);
      from = keys.endOf(keys.deskOf(workspaceId));
    }
  }
}
