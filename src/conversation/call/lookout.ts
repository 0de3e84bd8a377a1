/**
 * Looks from time to time what becomes of a call's session: its end, a newer call, a chat; and says in it that the call
 * is open (contract 18).
 */
import type { CallEvent } from '../../../machines/call.ts';
import type { SessionContext } from '../../../machines/session.ts';
import { limits } from '../../base/limits.ts';
import type { Session } from '../../store/store.ts';
import type { Services } from '../services.ts';
import { findTurn } from '../turns.ts';
import type { ChatTurns } from './chat-turns.ts';

export interface LookoutOptions {
  readonly services: Services;
  /** The call's time, which is not set with the wall clock. */
  now(): number;
  readonly session: Session;
  readonly callId: string;
  send(event: CallEvent): void;
  /** The turns of the session that are none of the call's. */
  readonly chats: ChatTurns;
  /** Whether the call waits for the end of another turn. */
  isBusy(): boolean;
  /** The call has said that it is open. */
  said(): void;
  /** The workspace was removed. */
  homeless(): void;
}

export class Lookout {
  readonly #options: LookoutOptions;
  #lookedAt: number;
  #saidAt: number;
  #closed = false;
  readonly #leaveTurns: () => void;

  constructor(options: LookoutOptions) {
    const { services, session, chats } = options;
    this.#options = options;
    // A chat may be over before the next look.
    this.#leaveTurns = services.host.turns.population.onBegun(session.id, (runner) => {
      if (!runner.isSpoken) chats.found(runner);
    });
    // The call was noted in its session as it was opened.
    this.#lookedAt = this.#saidAt = options.services.clock.monotonic();
  }

  close(): void {
    this.#closed = true;
    this.#leaveTurns();
  }

  /** In this process it finds everything at once, in another one within a second. */
  async look(): Promise<void> {
    const { clock, store } = this.#options.services;
    this.#lookAtActor();
    const now = clock.monotonic();
    if (now - this.#lookedAt < (store.leaseMs === null ? limits.socketPollMs : limits.catalogFreshMs)) return;
    this.#lookedAt = now;
    try {
      await this.#lookAtSession(now);
    } catch {
      // While the store is away, nothing is known to have ended.
    }
  }

  /** Looks for a turn in this process. */
  #lookAtActor(): void {
    const { services, session, chats, isBusy } = this.#options;
    const actor = services.host.sessions.population.find(session.id);
    const runner = actor?.runner ?? null;
    if (runner !== null && !runner.isSpoken) chats.found(runner);
    // On a shared store only the stored session knows of all turns.
    else if (services.store.leaseMs === null && isBusy() && (actor?.context.activeTurnId ?? null) === null)
      chats.foundNone();
  }

  async #lookAtSession(now: number): Promise<void> {
    const { services, session, callId, send, isBusy } = this.#options;
    const { sessions } = services.host;
    // A turn may begin while the session is read.
    const waits = isBusy();
    const found = await sessions.read(session.workspaceId, session.id);
    if (this.#closed) return;
    const at = this.#options.now();
    if (found === null || found.machine.state === 'ended') {
      if ((await services.host.workspaces.of(session.workspaceId)) === null) this.#options.homeless();
      return send({ type: 'session.ended', at });
    }
    const { call } = found;
    if (call !== undefined && call.id !== callId && call.untilMs > services.clock.now())
      return send({ type: 'replaced', at });
    if (services.store.leaseMs !== null)
      await this.#lookElsewhere((found.machine.context as SessionContext).activeTurnId, waits);
    // Another process may have taken this one for dead.
    if (!this.#closed && (call === undefined || now - this.#saidAt >= limits.callOpenEveryMs)) await this.#say(now);
  }

  /** Looks for a turn in another process. That of a dead process is sealed on the way. */
  async #lookElsewhere(turnId: string | null, waits: boolean): Promise<void> {
    const { services, session, chats } = this.#options;
    if (turnId === null) return waits ? chats.foundNone() : undefined;
    const { sessions } = services.host;
    if (chats.knows(turnId) || sessions.population.find(session.id)?.runner?.turnId === turnId) return;
    const actor = await sessions.of(session.workspaceId, session.id);
    const turn = actor && (await findTurn(actor, turnId, services));
    if (turn !== null && turn.runner === null && !turn.isSpoken && !this.#closed) chats.found(turn);
  }

  /** Says in the session that the call is open. */
  async #say(now: number): Promise<void> {
    const { services, session, callId, said } = this.#options;
    const { sessions } = services.host;
    this.#saidAt = now;
    const held = await sessions.of(session.workspaceId, session.id);
    if (held === null || this.#closed) return;
    await sessions.noteCall(held, callId);
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
