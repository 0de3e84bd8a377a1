/**
 * The feed of live actors, of every process on a shared store. A process that has watchers announces it repeatedly; the
 * others send it their actors' events while they receive the announcement, and nothing else is sent or computed. These
 * messages are hints: they arrive at most once, and each picture asks all processes anew.
 */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { PubSub } from '../store/store.ts';
import type { ActorIdentity, Inspected, Inspector } from '../actors/inspector.ts';
import { Pictures, type PictureReceiver } from './pictures.ts';

/** Milliseconds between two notices of a process with watchers to the others. */
export const feedAskMs = 2_000;
/** Milliseconds for which such a notice counts. */
export const feedWantedMs = 5_000;
/** Milliseconds by which a notice is late only when the process was held up. */
export const feedHeldMs = 250;
/** Milliseconds for other processes to report their live actors. */
export const feedPictureMs = 250;
/** Actors in one message between processes. */
const feedActorsMax = 500;

/** A live actor as the charts show it. */
export interface Awake {
  readonly actor: ActorIdentity;
  readonly state: string;
  readonly context: unknown;
  readonly seq: number;
}

/** `far`: another process has sent it. */
type Watcher = (inspected: Inspected, far: boolean) => void;

/** A message on the channel `watching`: a process has watchers, and may want to know which actors are awake. */
interface WatcherNotice {
  readonly from: string;
  readonly question: string | null;
}

/** A message on the channel `feed`: an event, or a part of the answer to a question. */
type Sent = { readonly from: string } & (
  | { readonly inspected: Inspected }
  | { readonly question: string; readonly actors: readonly Awake[] }
);

export interface FeedOptions {
  readonly inspector: Inspector;
  readonly clock: Clock;
  /** Undefined on a store with a single owner. */
  readonly pubSub: PubSub | undefined;
  /** A unique name of this process. */
  readonly self: string;
  /** Every live actor of this process, brought up to date. */
  awake(): Awake[];
  isAwake(actor: ActorIdentity): boolean;
}

export class Feed {
  readonly pictures: Pictures<Awake[]>;
  readonly #options: FeedOptions;
  readonly #watchers = new Set<Watcher>();
  readonly #onDrain = new Set<() => void>();
  /** The answers of other processes so far, by question. */
  readonly #answers = new Map<string, Awake[]>();
  #questions = 0;
  #listening: Promise<() => Promise<void>> | null = null;
  #asking: Timer | null = null;
  #hearing: Promise<() => Promise<void>> | null = null;
  #again: Timer | null = null;
  /** Ends the sending; set as long as another process has watchers. */
  #unsend: (() => void) | null = null;
  #wantedUntil = 0;
  #expiry: Timer | null = null;
  #closed = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.pictures = new Pictures(options.clock, () => this.#askOthers());
  }

  /** Begins to listen for watchers of other processes. */
  start(): void {
    const { pubSub, clock } = this.#options;
    if (pubSub === undefined || this.#closed) return;
    this.#listening = pubSub.listen('watching', (text) => this.#answerWatcher(JSON.parse(text) as WatcherNotice));
    this.#listening.catch(() => (this.#again = clock.after(limits.sweepAgainMs, () => this.start())));
  }

  close(): void {
    this.#closed = true;
    for (const timer of [this.#asking, this.#again, this.#expiry]) timer?.cancel();
    this.#unsend?.();
    for (const listening of [this.#listening, this.#hearing]) listening?.then((end) => end()).catch(() => {});
  }

  /** Notifies every follower that the process begins to end. */
  drain(): void {
    for (const draining of [...this.#onDrain]) draining();
  }

  /** Calls back when the process begins to end; returns a function that stops it. */
  whenDraining(draining: () => void): () => void {
    this.#onDrain.add(draining);
    return () => void this.#onDrain.delete(draining);
  }

  /** Calls back for every event of every process from now on; returns a function that stops it. */
  watch(watcher: Watcher): () => void {
    const { inspector, pubSub } = this.#options;
    const unwatch = inspector.watch((inspected) => watcher(inspected, false));
    this.#watchers.add(watcher);
    if (pubSub !== undefined && this.#watchers.size === 1) this.#join(pubSub);
    return () => {
      unwatch();
      if (this.#watchers.delete(watcher) && this.#watchers.size === 0) this.#leave();
    };
  }

  /**
   * Resolves with a function that returns every live actor, after other processes had a moment to answer. If an actor
   * is awake in several processes, the newest copy counts.
   */
  async #askOthers(): Promise<() => Awake[]> {
    const { self, clock, awake, pubSub } = this.#options;
    if (pubSub === undefined) return awake;
    const question = `${self} ${++this.#questions}`;
    const answers: Awake[] = [];
    this.#answers.set(question, answers);
    await this.#hearing?.catch(() => {});
    await pubSub.publish('watching', JSON.stringify({ from: self, question } satisfies WatcherNotice)).catch(() => {});
    await new Promise<void>((resolve) => void clock.after(feedPictureMs, resolve));
    this.#answers.delete(question);
    return () => merged(awake(), answers);
  }

  #join(pubSub: PubSub): void {
    this.#hearing = pubSub.listen('feed', (text) => this.#hear(JSON.parse(text) as Sent));
    this.#hearing.catch(() => {});
    this.#ask(pubSub);
  }

  #ask(pubSub: PubSub): void {
    const { self, clock } = this.#options;
    pubSub.publish('watching', JSON.stringify({ from: self, question: null } satisfies WatcherNotice)).catch(() => {});
    this.#asking = clock.after(feedAskMs, () => this.#ask(pubSub));
  }

  #leave(): void {
    this.#asking?.cancel();
    this.#hearing?.then((end) => end()).catch(() => {});
    this.#hearing = null;
  }

  #hear(sent: Sent): void {
    if (sent.from === this.#options.self) return;
    if ('question' in sent) return void this.#answers.get(sent.question)?.push(...sent.actors);
    const { inspected } = sent;
    // An actor that another process has passivated may be awake here.
    if (inspected.type === 'passivated' && this.#options.isAwake(inspected.actor)) return;
    for (const watcher of this.#watchers) watcher(inspected, true);
  }

  #answerWatcher({ from, question }: WatcherNotice): void {
    const { self, clock, inspector, awake, pubSub } = this.#options;
    if (from === self || this.#closed) return;
    const send = (sent: object): void =>
      void pubSub!.publish('feed', JSON.stringify({ from: self, ...sent })).catch(() => {});
    this.#wantedUntil = clock.monotonic() + feedWantedMs;
    if (this.#unsend === null) {
      // Quiet actors are brought up to date before their events are sent.
      awake();
      this.#unsend = inspector.watch((inspected) => send({ inspected }));
      this.#expire();
    }
    if (question === null) return;
    const actors = awake();
    for (let at = 0; at < actors.length; at += feedActorsMax)
      send({ question, actors: actors.slice(at, at + feedActorsMax) });
  }

  #expire(): void {
    const { clock } = this.#options;
    this.#expiry = clock.after(Math.max(1, this.#wantedUntil - clock.monotonic()), () => {
      const lateMs = clock.monotonic() - this.#wantedUntil;
      // A process that was held up has older announcements to read first.
      if (lateMs > feedHeldMs) this.#wantedUntil = clock.monotonic() + feedAskMs;
      if (clock.monotonic() < this.#wantedUntil) return this.#expire();
      this.#unsend?.();
      this.#unsend = null;
    });
  }
}

/**
 * Merges the lists. An actor that is awake in several processes is shown as the process with the highest `seq` has it;
 * if they are equal, this process's copy is shown.
 */
function merged(own: readonly Awake[], others: readonly Awake[]): Awake[] {
  const newest = new Map<string, Awake>();
  for (const each of [...own, ...others]) {
    const key = `${each.actor.kind} ${each.actor.id}`;
    const latest = newest.get(key);
    if (latest === undefined || each.seq > latest.seq) newest.set(key, each);
  }
  return [...newest.values()];
}

/** The controls of one watcher. */
export interface Watching {
  /** Asks for the picture again. */
  again(): void;
  stop(): void;
}

/**
 * Shows the feed to one watcher: the picture first, then the events that it does not have yet, until the process begins
 * to drain.
 */
export function watchFeed(
  feed: Feed,
  shown: { actors(actors: Awake[]): void; inspected(inspected: Inspected): void; draining(): void },
): Watching {
  /** Events of other processes since the request of the first picture: their answers may have been written before. */
  let early: Inspected[] | null = [];
  const unwatch = feed.watch((inspected, far) => {
    if (early === null) shown.inspected(inspected);
    else if (far && early.length < feedActorsMax) early.push(inspected);
  });
  const receiver: PictureReceiver<Awake[]> = {
    asked() {
      if (early !== null) early = [];
    },
    give(actors) {
      shown.actors(actors);
      for (const inspected of early ?? []) shown.inspected(inspected);
      early = null;
    },
  };
  const again = (): void => feed.pictures.request(receiver);
  const undrain = feed.whenDraining(() => shown.draining());
  again();
  return {
    again,
    stop() {
      feed.pictures.withdraw(receiver);
      undrain();
      unwatch();
    },
  };
}
