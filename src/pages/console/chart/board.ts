/**
 * Live actors as seen since the page was opened: the state of each, how often each row was taken, the latest events. A
 * board never changes: messages lead to another one, because a part of the page that is given the same object as before
 * is not drawn again.
 */
import { actorKinds, type ActorKind } from '../../../../machines/all.ts';
import type { FeedEvent, FeedMessage, LiveActor } from '../types.ts';
import { drawingOf, rowOf } from './drawing.ts';
import { stepOfEvent, type Step } from './steps.ts';

export interface Seen {
  readonly actor: LiveActor;
  /** Milliseconds: when it came into its state, as far as was seen; null if it was there before. */
  readonly since: number | null;
}

export interface Happened extends Step {
  readonly actor: { readonly kind: ActorKind; readonly id: string };
  readonly row: string | null;
}

export interface Board {
  /** Actors by kind and id. */
  readonly actors: OfKinds<ReadonlyMap<string, Seen>>;
  /** Transitions counted by kind and row. */
  readonly counts: OfKinds<ReadonlyMap<string, number>>;
  /** Newest first. */
  readonly happened: OfKinds<readonly Happened[]>;
  /** Events that could not be shown one by one. */
  readonly dropped: number;
  /** Whether the first list of live actors has come. */
  readonly begun: boolean;
  /** Events that were taken. */
  readonly taken: number;
  /** The sessions of turns, as far as they were seen, by the turn's id. */
  readonly sessions: ReadonlyMap<string, string>;
}

type OfKinds<Value> = Readonly<Record<ActorKind, Value>>;

const ofKinds = <Value>(make: () => Value): Record<ActorKind, Value> =>
  Object.fromEntries(actorKinds.map((kind) => [kind, make()])) as Record<ActorKind, Value>;

const happenedMax = 60;
/** Turns that are known with their sessions. */
const turnsMax = 10_000;

export const emptyBoard: Board = {
  actors: ofKinds(() => new Map()),
  counts: ofKinds(() => new Map()),
  happened: ofKinds(() => []),
  dropped: 0,
  begun: false,
  taken: 0,
  sessions: new Map(),
};

/** The board after these messages. */
export function boardAfter(board: Board, messages: readonly FeedMessage[]): Board {
  const next = new NextBoard(board);
  for (const message of messages) next.take(message);
  return next.board();
}

export const inState = ({ actors }: Board, kind: ActorKind, state: string | null): readonly Seen[] =>
  [...actors[kind].values()].filter(({ actor }) => state === null || actor.state === state);

/** Copies what it changes, once for all messages of a frame. */
class NextBoard {
  readonly #before: Board;
  readonly #actors: Record<ActorKind, ReadonlyMap<string, Seen>>;
  readonly #counts: Record<ActorKind, ReadonlyMap<string, number>>;
  readonly #news = ofKinds<Happened[]>(() => []);
  readonly #copied = new Set<unknown>();
  #sessions: ReadonlyMap<string, string>;
  #dropped = 0;
  #begun: boolean;
  #taken: number;

  constructor(board: Board) {
    this.#before = board;
    this.#actors = { ...board.actors };
    this.#counts = { ...board.counts };
    this.#sessions = board.sessions;
    this.#begun = board.begun;
    this.#taken = board.taken;
  }

  take(message: FeedMessage): void {
    // A server of another version may have another machine.
    if ('actor' in message && !(message.actor.kind in this.#actors)) return;
    if (message.type === 'actors') this.#picture(message.actors);
    else if (message.type === 'dropped') this.#dropped += message.count;
    else if (message.type === 'activated')
      this.#actorsOf(message.actor.kind).set(message.actor.id, {
        actor: { ...message.actor, state: message.state, context: null },
        since: message.at,
      });
    else if (message.type === 'passivated') this.#actorsOf(message.actor.kind).delete(message.actor.id);
    else this.#event(message);
  }

  board(): Board {
    const { happened, dropped } = this.#before;
    const withNews = (kind: ActorKind): readonly Happened[] =>
      this.#news[kind].length === 0
        ? happened[kind]
        : [...this.#news[kind].toReversed(), ...happened[kind]].slice(0, happenedMax);
    return {
      ...{
        actors: this.#actors,
        counts: this.#counts,
        sessions: this.#sessions,
        begun: this.#begun,
        taken: this.#taken,
        dropped: dropped + this.#dropped,
      },
      happened: Object.fromEntries(actorKinds.map((kind) => [kind, withNews(kind)])) as unknown as Board['happened'],
    };
  }

  #event(message: FeedEvent): void {
    const { actor, to, from, context, at } = message;
    const actors = this.#actorsOf(actor.kind);
    const known = actors.get(actor.id);
    const moved = { ...actor, state: to, context };
    this.#noteTurn(moved);
    actors.set(actor.id, { actor: moved, since: from === to && known !== undefined ? known.since : at });
    const step = stepOfEvent(message);
    const row = rowOf(drawingOf(actor.kind), step)?.key ?? null;
    if (row !== null) {
      const counts = (this.#counts[actor.kind] = this.#copyOf(this.#counts[actor.kind]));
      counts.set(row, (counts.get(row) ?? 0) + 1);
    }
    this.#news[actor.kind].push({ ...step, id: String(++this.#taken), actor, row });
  }

  #picture(actors: readonly LiveActor[]): void {
    const before = { ...this.#actors };
    for (const kind of actorKinds) this.#copied.add((this.#actors[kind] = new Map()));
    for (const actor of actors.filter(({ kind }) => kind in before)) {
      const known = before[actor.kind].get(actor.id);
      this.#noteTurn(actor);
      this.#actorsOf(actor.kind).set(actor.id, {
        actor,
        since: known?.actor.state === actor.state ? known.since : null,
      });
    }
    this.#begun = true;
  }

  #noteTurn({ kind, id, context }: LiveActor): void {
    const turnId = kind === 'session' ? (context as { activeTurnId?: string | null } | null)?.activeTurnId : null;
    if (!turnId || this.#sessions.has(turnId)) return;
    const sessions = this.#copyOf(this.#sessions);
    sessions.set(turnId, id);
    if (sessions.size > turnsMax) sessions.delete(sessions.keys().next().value!);
    this.#sessions = sessions;
  }

  #actorsOf(kind: ActorKind): Map<string, Seen> {
    const own = this.#copyOf(this.#actors[kind]);
    this.#actors[kind] = own;
    return own;
  }

  #copyOf<Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> {
    if (this.#copied.has(map)) return map as Map<Key, Value>;
    const own = new Map(map);
    this.#copied.add(own);
    return own;
  }
}
