/**
 * Spoken replies: their text is stored ahead of a listener, whom readers follow and who may cut them. A speaker takes
 * the store's steps itself, as a process does that has a call.
 */
import {
  openedSession,
  sessionKind,
  sessionVersion,
  type SessionContext,
  type SessionEvent,
  type SessionOutcome,
} from '../../machines/session.ts';
import { secondsOf, type Clock } from '../../src/base/clock.ts';
import type { Ids } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { openActor } from '../../src/actors/actor.ts';
import { nobody } from '../../src/actors/cause.ts';
import { createdMove, movedSession, moveOf } from '../../src/actors/history.ts';
import { Inspector } from '../../src/actors/inspector.ts';
import { leaseUntil } from '../../src/turn/lease.ts';
import type { ModelMessage } from '../../src/providers/model.ts';
import { modelMessages } from '../../src/providers/model/history.ts';
import { messageOf } from '../../src/store/records.ts';
import {
  StoreUnavailable,
  type Fence,
  type Move,
  type Session,
  type Store,
  type Turn,
  type Versioned,
} from '../../src/store/store.ts';
import type { World } from './world.ts';

/**
 * The speakers fall silent so early that every turn that they leave is sealed by the end of the story, in milliseconds.
 */
const speaksMs = 50_000;
const words = ['eins ', 'zwei, ', '😀', '👍🏽 ', 'fünf. ', '𠮷', '\n', '6'] as const;
const unwatched = new Inspector();

export interface SpeakerParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A turn in flight, and its whole text. */
interface Reply {
  readonly turn: Turn;
  readonly fence: Fence;
  readonly points: readonly string[];
  /** Code points that readers may see: -1 while the turn is hidden, null without a gate. */
  released: number | null;
}

const ignored = (error: unknown): void => {
  if (!(error instanceof StoreUnavailable)) throw error;
};

export class Speaker {
  readonly #world: World;
  readonly #host: string;
  readonly #parts: SpeakerParts;
  readonly #owner: string;
  /** Null: the next reply begins a session. */
  #sessionId: string | null = null;

  constructor(world: World, host: string, parts: SpeakerParts) {
    this.#world = world;
    this.#host = host;
    this.#parts = parts;
    this.#owner = parts.ids.secret();
  }

  /** One reply after the other, until it is late or the process has died. */
  async run(): Promise<void> {
    const { scheduler, history } = this.#world;
    while (scheduler.now < speaksMs) {
      await this.#sleep(scheduler.random.delay(5000, 15_000));
      try {
        await this.#reply();
      } catch (error) {
        if (!(error instanceof StoreUnavailable))
          return void history.wrong.push(`liveness: a speaker broke off: ${String(error)}`);
        this.#sessionId = null;
      }
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#parts.clock.after(ms, resolve));
  }

  async #reply(): Promise<void> {
    const { random } = this.#world.scheduler;
    const found = await this.#session();
    const reply = found && (await this.#begin(found));
    if (!reply) return void (this.#sessionId = null);
    const stored = await this.#say(reply);
    if (stored !== null) await this.#end(reply, stored, random.chance(0.7));
  }

  /** Session that waits for its next message; null if no session does. */
  async #session(): Promise<Versioned<Session> | null> {
    const { store, clock, ids } = this.#parts;
    const { workspaceId, assistantIds } = this.#world.seeds;
    if (this.#sessionId !== null) {
      const found = await store.sessions.read(workspaceId, this.#sessionId);
      return found === null || (found.record.machine.context as SessionContext).activeTurnId !== null ? null : found;
    }
    const nowMs = clock.now();
    const [createdAt, maxCallSeconds] = [secondsOf(nowMs), 7200];
    const expiresAt = createdAt + maxCallSeconds;
    const session: Session = {
      id: ids.make('ses'),
      workspaceId,
      assistantId: assistantIds.at(-1)!,
      channel: 'api',
      visitor: {},
      metadata: {},
      maxCallSeconds,
      createdAt,
      expiresAt,
      lastActivityAt: createdAt,
      messageCount: 0,
      mark: ids.secret(),
      machine: { version: sessionVersion, state: 'open', context: openedSession(expiresAt) },
    };
    await store.sessions.create({
      session,
      greeting: null,
      remember: null,
      nowMs,
      move: createdMove(session.machine, nowMs, nobody),
    });
    this.#sessionId = session.id;
    return { record: session, version: 1 };
  }

  /** The session after an event, and the step's entry in its history. */
  #moved(
    { record, version }: Versioned<Session>,
    event: SessionEvent,
    messageCount = record.messageCount,
  ): { session: Session; move: Move } {
    const machine = openActor<SessionEvent, SessionOutcome>(
      sessionKind,
      { snapshot: record.machine },
      { kind: 'session', id: record.id, workspaceId: record.workspaceId },
      unwatched,
    );
    const decision = machine.decide(event);
    const session = movedSession(record, event.at, this.#parts.ids.secret(), machine.snapshot(), messageCount);
    return { session, move: moveOf(decision, version + 1, event.at, nobody, session.machine) };
  }

  /** Begins a turn with all that was said before; null if the session has moved. */
  async #begin(found: Versioned<Session>): Promise<Reply | null> {
    const { store, clock, ids } = this.#parts;
    const {
      scheduler: { random },
      history,
    } = this.#world;
    const { record: before, version } = found;
    const said = await store.sessions.recentMessages(before.workspaceId, before.id, before.messageCount, 1e6, 1e6);
    const at = clock.now();
    const turn: Turn = {
      id: ids.make('turn'),
      sessionId: before.id,
      messageId: ids.make('msg'),
      messageIndex: before.messageCount + 1,
      status: 'streaming',
      stopReason: null,
      errorCode: null,
      inputTokens: 0,
      outputTokens: 0,
      createdAt: secondsOf(at),
      endedAt: null,
    };
    const question = `spoken ${turn.id}`;
    const released = random.pick([-1, 0, null]);
    const leaseUntilMs =
      store.leaseMs === null ? Number.MAX_SAFE_INTEGER : leaseUntil(at, store.leaseMs, before.expiresAt);
    const begun = await store.turns.begin({
      ...this.#moved(found, { type: 'chat', at, turnId: turn.id, assistantRefusal: null }, before.messageCount + 2),
      version,
      mark: before.mark,
      turn,
      userMessage: messageOf(turn, ids.make('msg'), 'user', question),
      slot: { name: 'speakers', ceiling: 1000 },
      owner: this.#owner,
      leaseUntilMs,
      remember: null,
      nowMs: at,
      ...(released !== null && { released }),
    });
    if (begun.outcome !== 'begun') return null;
    const points = [...Array.from({ length: random.between(1, 12) }, () => random.pick(words)).join('')];
    const heard = modelMessages(said.filter(({ content }) => content.trim() !== '')).map(
      ({ role, content }) => ({ role, content }) as ModelMessage,
    );
    history.said.push({
      host: this.#host,
      messages: [...heard, { role: 'user', content: question }],
      text: points.join(''),
    });
    return { turn, fence: begun.fence, points, released };
  }

  /**
   * Stores some or all of the text, ahead of its listener. Resolves with how many code points are stored; null if
   * another process has the turn.
   */
  async #say(reply: Reply): Promise<number | null> {
    const { turn, fence, points } = reply;
    const { store, clock } = this.#parts;
    const { random } = this.#world.scheduler;
    const place = { workspaceId: this.#world.seeds.workspaceId, sessionId: turn.sessionId, turnId: turn.id };
    const most = random.between(0, points.length);
    let stored = 0;
    while (stored < most) {
      const piece = points.slice(stored, stored + random.between(1, 6));
      const nowMs = clock.now();
      const lease = store.leaseMs === null ? {} : { leaseUntilMs: nowMs + store.leaseMs, nowMs };
      try {
        if (
          (await store.turns.append({ ...place, fence, position: stored, text: piece.join(''), ...lease })) === 'fenced'
        )
          return null;
      } catch (error) {
        // A `RangeError`: a failover has lost the text before.
        if (!(error instanceof StoreUnavailable || error instanceof RangeError)) throw error;
        break;
      }
      stored += piece.length;
      await this.#release(reply, random.between(0, points.length));
      await this.#read(reply);
      await this.#sleep(random.delay(200, 1500));
    }
    return stored;
  }

  /** Lets readers see so much; what is not stored yet once it is. Like a call it asks but once. */
  async #release(reply: Reply, points: number): Promise<void> {
    const { turn, fence, released } = reply;
    if (released === null || points <= released || this.#world.scheduler.random.chance(0.4)) return;
    reply.released = points;
    await this.#parts.store.turns
      .release(
        { workspaceId: this.#world.seeds.workspaceId, sessionId: turn.sessionId, turnId: turn.id },
        fence,
        points,
      )
      .catch(ignored);
  }

  /** Reads along, at any process; the oracle sees what it is shown. */
  async #read({ turn, points }: Reply): Promise<void> {
    const {
      scheduler: { random },
      seeds: { workspaceId },
      hosts,
    } = this.#world;
    const store = random.chance(0.5) ? this.#parts.store : random.pick(hosts).store;
    if (store === null) return;
    const place = { workspaceId, sessionId: turn.sessionId, turnId: turn.id };
    if (random.chance(0.5))
      await Promise.resolve(store.turns.outputAfter(place, random.between(0, points.length))).catch(ignored);
    else
      await store.sessions
        .messages(workspaceId, turn.sessionId, { limit: 4, after: null, order: random.pick(['asc', 'desc']) })
        .catch(ignored);
  }

  /**
   * Seals the turn, cut where its listener was, or somewhere in what was stored and what comes with the end. Sends that
   * end until the store answers.
   */
  async #end({ turn, fence, points, released }: Reply, stored: number, isCut: boolean): Promise<void> {
    const { store, clock } = this.#parts;
    const { random } = this.#world.scheduler;
    const { workspaceId } = this.#world.seeds;
    const sent = isCut ? random.between(stored, points.length) : points.length;
    const cut = isCut
      ? { cutAt: released === null ? random.between(0, sent) : Math.min(sent, Math.max(0, released)) }
      : {};
    const outcome = isCut
      ? ({ status: 'aborted', stopReason: 'aborted' } as const)
      : ({ status: 'completed', stopReason: 'end' } as const);
    for (let position = stored; ;) {
      try {
        const found = await store.sessions.read(workspaceId, turn.sessionId);
        if (found === null) return;
        const at = clock.now();
        const over: Turn = { ...turn, ...outcome, inputTokens: 1, outputTokens: sent, endedAt: secondsOf(at) };
        const message = messageOf(over, turn.messageId, 'assistant', '', {
          ...outcome,
          status: isCut ? 'partial' : 'completed',
          errorCode: null,
        });
        const tail = { position, text: points.slice(position, sent).join('') };
        const answer = await store.turns.finish({
          ...this.#moved(found, { type: 'finished', at, turnId: turn.id }),
          version: found.version,
          mark: found.record.mark,
          turn: over,
          message,
          tail,
          ...cut,
          fence,
          nowMs: at,
        });
        if (answer.outcome !== 'lost') return;
      } catch (error) {
        // A failover has lost text that was stored: all of it is sent again.
        if (error instanceof RangeError) position = 0;
        else if (!(error instanceof StoreUnavailable)) throw error;
        await this.#sleep(limits.orphansMs);
      }
    }
  }
}
