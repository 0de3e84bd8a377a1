/**
 * Erasing a person (contract 22): ends the sessions, forgets what names them outside of them, removes them, and then
 * what tests keep of them. An erasure is stored before its first step, so that the next sweep of any process continues one that was cut.
 */
import { secondsOf, type Clock } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { visitorLimits } from '../host/link-budget.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { AuditEntry, Cause, ErasedCounts, Erasure, Page, Session, SessionFilter, Store } from '../store/store.ts';
import { nobody } from '../actors/cause.ts';
import { eraseTests } from './erased-tests.ts';
import type { Sessions } from './sessions.ts';

/** Sessions of a visitor that are erased after one scan for what names them. */
const erasedTogether = 10_000;

/** Sessions that are ended or removed at the same time. */
const atOnce = 16;

/** Time after a session's last activity during which a limit of its visitor may still be stored: a day, and a turn. */
const limitedSeconds = 2 * 86_400;

export interface ErasuresOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly sessions: Pick<Sessions, 'of' | 'end'>;
  /** Drops the copies that this process has of an erased session or visitor. */
  drop(erased: Erasure): void;
  /** Reports a failure of an erasure that no request waits for. */
  failed(error: unknown): void;
}

export class Erasures {
  readonly #options: ErasuresOptions;
  /** The erasures that this process carries out. */
  readonly #running = new Map<string, Promise<ErasedCounts>>();
  #closed = false;

  constructor(options: ErasuresOptions) {
    this.#options = options;
  }

  close(): void {
    this.#closed = true;
  }

  /** Erases a session, or all sessions of a visitor; a request for an erasure that runs waits for the same end. `audit`: its row. */
  erase(erasure: Erasure, cause: Cause, audit?: AuditEntry): Promise<ErasedCounts> {
    const key = `${erasure.workspaceId} ${erasure.kind} ${erasure.id}`;
    const running = this.#running.get(key);
    if (running !== undefined) return running;
    const begun = this.#run(erasure, cause, audit).finally(() => this.#running.delete(key));
    this.#running.set(key, begun);
    return begun;
  }

  /** Continues the erasures that were cut; never rejects. */
  async resume(): Promise<void> {
    const { store, failed } = this.#options;
    // The next sweep tries again once the store is back.
    const report = (error: unknown): void => (error instanceof StoreUnavailable ? undefined : failed(error));
    const erasures = await store.erasures.unfinished().catch(report);
    for (const erasure of erasures ?? []) await this.erase(erasure, nobody).catch(report);
  }

  async #run(erasure: Erasure, cause: Cause, audit?: AuditEntry): Promise<ErasedCounts> {
    const { store, clock, drop } = this.#options;
    const { workspaceId, kind, id } = erasure;
    const wasCut = await store.erasures.begin(erasure, clock.now(), audit);
    if (kind === 'session') {
      const stored = await store.sessions.read(workspaceId, id);
      await this.#eraseAll(erasure, stored === null ? [] : [stored.record], cause);
    } else {
      // A session that the visitor opens meanwhile has a later id.
      for (let after: string | null = null, more = true; more;) {
        const { sessions, next } = await this.#heldBy(workspaceId, id, after);
        await this.#eraseAll(erasure, sessions, cause);
        after = next;
        more = next !== null;
      }
    }
    await eraseTests(erasure, wasCut, { store, clock }, () => this.#goOn());
    const counts = await store.erasures.finish(erasure);
    drop(erasure);
    return counts;
  }

  /** The next sessions of a visitor; records without their texts are small, and their number is bounded. */
  async #heldBy(
    workspaceId: string,
    visitorId: string,
    from: string | null,
  ): Promise<{ sessions: Session[]; next: string | null }> {
    const { store, clock } = this.#options;
    const filter: SessionFilter = {
      assistantIds: null,
      status: null,
      activeSince: 0,
      visitorId,
      now: secondsOf(clock.now()),
    };
    const sessions: Session[] = [];
    let after = from;
    do {
      this.#goOn();
      const page: Page<Session> = await store.sessions.list(workspaceId, filter, {
        limit: limits.listMax,
        after,
        order: 'asc',
      });
      sessions.push(...page.items);
      after = page.next;
    } while (after !== null && sessions.length < erasedTogether);
    return { sessions, next: after };
  }

  /**
   * Ends all sessions first, so that nothing is stored about them any more; then forgets what names them, and removes
   * them last: an erasure that was cut finds them again.
   */
  async #eraseAll(erasure: Erasure, sessions: readonly Session[], cause: Cause): Promise<void> {
    const { store, drop } = this.#options;
    const { workspaceId, kind, id } = erasure;
    await this.#each(sessions, (session) => this.#end(session, cause));
    await store.erasures.forget(workspaceId, {
      sessionIds: new Set(kind === 'session' ? [id] : sessions.map((session) => session.id)),
      ...this.#limitsOf(erasure, sessions),
    });
    const ids = kind === 'session' ? [id] : sessions.map((session) => session.id);
    await this.#each(ids, async (sessionId) => {
      await store.erasures.eraseSession(erasure, sessionId);
      drop({ workspaceId, kind: 'session', id: sessionId });
    });
  }

  /** The places and limits that name the visitor, unless all of them have run out by themselves. */
  #limitsOf({ kind, id }: Erasure, sessions: readonly Session[]) {
    const since = secondsOf(this.#options.clock.now()) - limitedSeconds;
    const recent = sessions.filter(({ link, lastActivityAt }) => link !== undefined && lastActivityAt >= since);
    if (kind === 'session')
      return { places: recent.map(({ link, id: seat }) => ({ holder: link!.visitorId, seat })), limits: [] };
    if (recent.length === 0) return { places: [], limits: [] };
    const assistantIds = [...new Set(recent.map(({ assistantId }) => assistantId))];
    return {
      places: [{ holder: id, seat: null }],
      limits: assistantIds.flatMap((assistantId) => visitorLimits(assistantId, id)),
    };
  }

  /** Ends a session that is open, with its turn and its call. Another process may have erased it meanwhile. */
  async #end({ workspaceId, id, machine }: Session, cause: Cause): Promise<void> {
    const { sessions } = this.#options;
    if (machine.state !== 'open' && machine.state !== 'streaming') return;
    try {
      const actor = await sessions.of(workspaceId, id);
      if (actor !== null) await sessions.end(actor, cause);
    } catch (error) {
      if (!(error instanceof Failure && error.code === 'session_not_found')) throw error;
    }
  }

  async #each<T>(all: readonly T[], act: (each: T) => Promise<void>): Promise<void> {
    const rest = all[Symbol.iterator]();
    const worker = async (): Promise<void> => {
      for (const each of rest) {
        this.#goOn();
        await act(each);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, all.length) }, worker));
  }

  #goOn(): void {
    if (this.#closed) throw new StoreUnavailable('The process ends. The erasure is continued by the next one.');
  }
}
