/**
 * Polls a call's session for its end, a newer call or a chat, and notes in the session that the call is open (contract
 * 18).
 */
import type { SessionContext } from '../../../machines/session.ts';
import { attendanceOf } from '../../store/records/attendance.ts';
import { limits } from '../../base/limits.ts';
import { findTurn } from '../turns.ts';
import type { ChatTurns } from './chat-turns.ts';
import type { CallPort } from './port.ts';

/** Milliseconds between two notes in the session that the call is open: less than its `callOpenMs`. */
const callOpenEveryMs = 20_000;

export interface SessionPollerOptions {
  readonly port: Pick<CallPort, 'id' | 'services' | 'session' | 'now' | 'state' | 'send'>;
  /** Turns of the session that are not the call's. */
  readonly chats: ChatTurns;
  /** The session notes that the call is open. */
  noted(): void;
  /** The workspace was removed. */
  removed(): void;
}

export class SessionPoller {
  readonly #options: SessionPollerOptions;
  #polledAt: number;
  #notedAt: number;
  #closed = false;
  readonly #unwatchTurns: () => void;

  constructor(options: SessionPollerOptions) {
    const { port, chats } = options;
    const { services, session } = port;
    this.#options = options;
    // A chat may end before the next poll.
    this.#unwatchTurns = services.host.turns.population.onBegun(session.id, (runner) => {
      if (!runner.isSpoken) chats.found(runner);
    });
    // The call was noted in its session as it was opened.
    this.#polledAt = this.#notedAt = services.clock.monotonic();
  }

  close(): void {
    this.#closed = true;
    this.#unwatchTurns();
  }

  get #port(): SessionPollerOptions['port'] {
    return this.#options.port;
  }

  /** Whether the call waits for the end of another turn. */
  get #isBusy(): boolean {
    return this.#port.state === 'busy';
  }

  /** Finds changes of this process at once, and changes of another one within a second. */
  async poll(): Promise<void> {
    const { clock, store } = this.#port.services;
    this.#pollActor();
    const now = clock.monotonic();
    if (now - this.#polledAt < (store.leaseMs === null ? limits.socketPollMs : limits.catalogFreshMs)) return;
    this.#polledAt = now;
    try {
      await this.#pollSession(now);
    } catch {
      // The call continues while the store is away.
    }
  }

  /** Finds a person who has the session, as this process knows it. */
  findPerson(): void {
    const { services, session, now: at } = this.#port;
    const actor = services.host.sessions.population.find(session.id);
    if (actor !== undefined && attendanceOf(actor.record, services.clock.now()).state === 'person')
      this.#port.send({ type: 'replaced', at, by: 'person' });
  }

  /** Finds a turn in this process. */
  #pollActor(): void {
    const { services, session } = this.#port;
    const { chats } = this.#options;
    const actor = services.host.sessions.population.find(session.id);
    const runner = actor?.runner ?? null;
    if (runner !== null && !runner.isSpoken) chats.found(runner);
    // Only the stored session knows all turns of a shared store.
    else if (services.store.leaseMs === null && this.#isBusy && (actor?.context.activeTurnId ?? null) === null)
      chats.foundNone();
  }

  async #pollSession(now: number): Promise<void> {
    const { services, session, id } = this.#port;
    const { sessions } = services.host;
    // A turn may begin while the session is read.
    const waits = this.#isBusy;
    const stored = await sessions.read(session.workspaceId, session.id);
    if (this.#closed) return;
    const at = this.#port.now;
    if (stored === null || stored.machine.state === 'ended') {
      if ((await services.host.workspaces.of(session.workspaceId)) === null) this.#options.removed();
      return this.#port.send({ type: 'session.ended', at });
    }
    if (attendanceOf(stored, services.clock.now()).state === 'person')
      return this.#port.send({ type: 'replaced', at, by: 'person' });
    const { call } = stored;
    if (call !== undefined && call.id !== id && call.untilMs > services.clock.now())
      return this.#port.send({ type: 'replaced', at });
    if (services.store.leaseMs !== null)
      await this.#pollElsewhere((stored.machine.context as SessionContext).activeTurnId, waits);
    // Another process may have taken this one for dead.
    if (!this.#closed && (call === undefined || now - this.#notedAt >= callOpenEveryMs)) await this.#note(now);
  }

  /** Finds a turn in another process. Loading the session seals a turn of a dead process. */
  async #pollElsewhere(turnId: string | null, waits: boolean): Promise<void> {
    const { services, session } = this.#port;
    const { chats } = this.#options;
    if (turnId === null) return waits ? chats.foundNone() : undefined;
    const { sessions } = services.host;
    if (chats.knows(turnId) || sessions.population.find(session.id)?.runner?.turnId === turnId) return;
    const actor = await sessions.of(session.workspaceId, session.id);
    const turn = actor && (await findTurn(actor, turnId, services));
    if (turn !== null && turn.runner === null && !turn.isSpoken && !this.#closed) chats.found(turn);
  }

  /** Notes in the session that the call is open. */
  async #note(now: number): Promise<void> {
    const { services, session, id } = this.#port;
    const { sessions } = services.host;
    this.#notedAt = now;
    const actor = await sessions.of(session.workspaceId, session.id);
    if (actor === null || this.#closed) return;
    await sessions.noteCall(actor, id);
    this.#options.noted();
  }

  /** Notes in the session that it has no call, unless a newer one is open. */
  async leave(): Promise<void> {
    const { services, session, id } = this.#port;
    const { sessions } = services.host;
    try {
      const actor = await sessions.of(session.workspaceId, session.id);
      if (actor?.record.call?.id === id) await sessions.noteCall(actor, null);
    } catch {
      // The session's note of the call expires by itself.
    }
  }
}
