/** Looks from time to time what becomes of a call's session: its end, a newer call, a chat; and says in it that the call is open (contract 18). */
import type { CallEvent } from '../../../machines/call.ts';
import { limits } from '../../base/limits.ts';
import type { Cause, Session } from '../../store/store.ts';
import type { TurnInFlight } from '../../turn/session-actor.ts';
import type { Services } from '../services.ts';

export interface LookoutOptions {
  readonly services: Services;
  readonly session: Session;
  readonly callId: string;
  readonly cause: Cause;
  send(event: CallEvent): void;
  /** The session runs a turn in this process. */
  runs(turn: TurnInFlight): void;
  /** The call has said that it is open. */
  said(): void;
}

export class Lookout {
  readonly #options: LookoutOptions;
  #lookedAt: number;
  #saidAt: number;
  #closed = false;

  constructor(options: LookoutOptions) {
    this.#options = options;
    // The call was noted in its session as it was opened.
    this.#lookedAt = this.#saidAt = options.services.clock.monotonic();
  }

  close(): void {
    this.#closed = true;
  }

  /** In this process it finds everything at once, in another one within a second. */
  async look(): Promise<void> {
    const { services, session, runs } = this.#options;
    const { host, clock, store } = services;
    const runner = host.sessions.population.find(session.id)?.runner ?? null;
    if (runner !== null) runs(runner);
    const now = clock.monotonic();
    if (now - this.#lookedAt < (store.leaseMs === null ? limits.socketPollMs : limits.catalogFreshMs)) return;
    this.#lookedAt = now;
    try {
      await this.#lookAtSession(now);
    } catch {
      // While the store is away, nothing is known to have ended.
    }
  }

  async #lookAtSession(now: number): Promise<void> {
    const { services, session, callId, cause, send, said } = this.#options;
    const { sessions } = services.host;
    const found = await sessions.read(session.workspaceId, session.id);
    if (this.#closed) return;
    const at = services.clock.now();
    if (found === null || found.machine.state === 'ended') return send({ type: 'session.ended', at });
    const { call } = found;
    if (call !== undefined && call.id !== callId && call.untilMs > at) return send({ type: 'replaced', at });
    if (now - this.#saidAt < limits.callOpenEveryMs) return;
    this.#saidAt = now;
    const held = await sessions.of(session.workspaceId, session.id);
    if (held === null || this.#closed) return;
    await sessions.noteCall(held, callId);
    if (session.link !== undefined) await sessions.keepPresent(held, cause);
    said();
  }

  /** The call is over: unless a newer one is open, the session has none. */
  async leave(): Promise<void> {
    const { services, session, callId } = this.#options;
    const { sessions } = services.host;
    try {
      const held = await sessions.of(session.workspaceId, session.id);
      if (held?.record.call?.id === callId) await sessions.noteCall(held, null);
    } catch {
      // The session says so itself once the time is over that the call has named.
    }
  }
}
