/** Live actors as seen since the page was opened: the state of each, how often each row was taken, the latest events. */
import type { ActorKind } from '../../../../machines/all.ts';
import { actorKinds } from '../../../../machines/all.ts';
import type { FeedMessage, LiveActor } from '../types.ts';
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

const happenedMax = 60;
/** So many turns are known with their sessions. */
const turnsMax = 10_000;

export class Board {
  readonly actors = new Map<string, Seen>();
  readonly counts = new Map<string, number>();
  /** Newest first, of each kind. */
  readonly happened = new Map<ActorKind, readonly Happened[]>(actorKinds.map((kind) => [kind, []]));
  /** How many events could not be shown one by one. */
  dropped = 0;
  /** Whether the first list of live actors has come. */
  begun = false;
  #number = 0;
  readonly #sessions = new Map<string, string>();

  take(messages: readonly FeedMessage[]): void {
    const news = new Map<ActorKind, Happened[]>();
    for (const message of messages) {
      if (message.type === 'actors') this.#picture(message.actors);
      else if (message.type === 'dropped') this.dropped += message.count;
      else if (message.type === 'activated') this.actors.set(message.actor.id, { actor: { ...message.actor, state: message.state, context: null }, since: message.at });
      else if (message.type === 'passivated') this.actors.delete(message.actor.id);
      else {
        const { actor, to, from, context, at } = message;
        const known = this.actors.get(actor.id);
        this.#noteTurn({ ...actor, state: to, context });
        this.actors.set(actor.id, { actor: { ...actor, state: to, context }, since: from === to && known !== undefined ? known.since : at });
        const step = stepOfEvent(message);
        const row = rowOf(drawingOf(actor.kind), step)?.key ?? null;
        if (row !== null) this.counts.set(`${actor.kind} ${row}`, (this.counts.get(`${actor.kind} ${row}`) ?? 0) + 1);
        const list = news.get(actor.kind) ?? [];
        list.push({ ...step, id: String(++this.#number), actor, row });
        news.set(actor.kind, list);
      }
    }
    for (const [kind, list] of news) this.happened.set(kind, [...list.toReversed(), ...this.happened.get(kind)!].slice(0, happenedMax));
  }

  #picture(actors: readonly LiveActor[]): void {
    const before = new Map(this.actors);
    this.actors.clear();
    for (const actor of actors) {
      const known = before.get(actor.id);
      this.#noteTurn(actor);
      this.actors.set(actor.id, { actor, since: known?.actor.state === actor.state ? known.since : null });
    }
    this.begun = true;
  }

  inState(kind: ActorKind, state: string | null): Seen[] {
    return [...this.actors.values()].filter(({ actor }) => actor.kind === kind && (state === null || actor.state === state));
  }

  countsOf(kind: ActorKind): ReadonlyMap<string, number> {
    const prefix = `${kind} `;
    return new Map([...this.counts].filter(([key]) => key.startsWith(prefix)).map(([key, value]) => [key.slice(prefix.length), value]));
  }

  /** The session whose turn this is, as far as it was seen. */
  sessionOf(turnId: string): string | null {
    return this.#sessions.get(turnId) ?? null;
  }

  #noteTurn({ kind, id, context }: LiveActor): void {
    const turnId = kind === 'session' ? (context as { activeTurnId?: string | null } | null)?.activeTurnId : null;
    if (!turnId) return;
    this.#sessions.set(turnId, id);
    if (this.#sessions.size > turnsMax) this.#sessions.delete(this.#sessions.keys().next().value!);
  }
}
