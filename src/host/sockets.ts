/**
 * Socket actors: the transcription sockets and the calls that are open in this process. Nothing of them is stored, as a
 * socket ends with its process.
 */
import type { MachineKind } from '../../machines/version.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Cause, Store } from '../store/store.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { isRefused, type ActorIdentity, type Inspector } from '../actors/inspector.ts';
import { Population, type Resident } from '../actors/population.ts';

type Event = { type: string; at: number };
type Outcome = { type: string };

/** The token, workspace and session that an open socket belongs to. */
export interface SocketFacts {
  /** The id of its token. */
  readonly id: string;
  readonly workspaceId: string;
  readonly tokenUntilMs: number;
  /** Unix seconds; null without a session. A call has one. */
  readonly expiresAt: number | null;
  /** The request that became the socket. */
  readonly cause: Cause;
}

/** The events that no message of the client causes. */
const ofItself: ReadonlySet<string> = new Set(['tick', 'drain', 'session.ended']);

export class SocketActor<E extends Event = Event, O extends Outcome = Outcome> implements Resident {
  readonly identity: ActorIdentity;
  readonly machine: MachineInstance<E, O>;
  /** A socket is in use until it is closed. */
  readonly busy = true;
  usedAt = 0;
  readonly #inspector: Inspector;
  readonly #over: () => void;
  /** The request that became the socket. */
  readonly cause: Cause;
  /** A socket is not stored: its steps are the events that it did not refuse. */
  version = 0;
  /** Called with the decisions of the machine on an event, after watchers have seen them. */
  onDecision: (outcomes: readonly O[], from: string) => void = () => {};

  constructor(
    kind: MachineKind,
    { id, workspaceId, tokenUntilMs, expiresAt, cause }: SocketFacts,
    inspector: Inspector,
    over: () => void,
  ) {
    this.identity = { kind: kind.name, id, workspaceId };
    this.machine = openActor<E, O>(kind, { input: { tokenUntil: tokenUntilMs, expiresAt } }, this.identity, inspector);
    this.#inspector = inspector;
    this.#over = over;
    this.cause = cause;
    inspector.life('activated', this.identity, this.machine);
  }

  get closed(): boolean {
    return this.machine.state === 'closed';
  }

  send(event: E): O[] {
    const decision = this.machine.decide(event);
    const { outcomes, from, to } = decision;
    if (!isRefused(outcomes)) this.version++;
    this.machine.publish(decision, this.version, ofItself.has(event.type) ? nobody : this.cause);
    this.onDecision(outcomes, from);
    if (from !== to && to === 'closed') this.#over();
    return outcomes;
  }

  passivated(): void {
    this.#inspector.life('passivated', this.identity, this.machine);
  }
}

/** Milliseconds beyond a token's time for which its opening is remembered: processes' clocks may differ. */
const slackMs = 5 * 60_000;

export class Sockets<E extends Event = Event, O extends Outcome = Outcome> {
  readonly population: Population<SocketActor<E, O>>;
  readonly #kind: MachineKind;
  /** The kind of socket that the tokens open. */
  readonly #use: string;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #inspector: Inspector;
  /** Tokens that were opened in this process lately, and the time until which each is remembered. */
  readonly #spent = new Map<string, number>();

  /** `use`: the prefix of the places that tokens take in the store, one for each. */
  constructor(kind: MachineKind, use: string, store: Store, clock: Clock, inspector: Inspector) {
    this.#kind = kind;
    this.#use = use;
    this.#store = store;
    this.#clock = clock;
    this.#inspector = inspector;
    this.population = new Population(clock, limits);
  }

  /** Whether this process has opened a socket with the token. Another process may have. */
  isSpent(tokenId: string): boolean {
    return this.#spent.has(tokenId);
  }

  /** Takes the token for this socket: false if another socket has it. Exact across processes. */
  async spend({ id, workspaceId, tokenUntilMs }: SocketFacts, holder: string): Promise<boolean> {
    const nowMs = this.#clock.now();
    const [taken] = await this.#store.limits.take({
      workspaceId,
      asked: [{ kind: 'place', name: `${this.#use}/${id}`, ceiling: 1, holder, untilMs: tokenUntilMs + slackMs }],
      nowMs,
    });
    for (const [token, until] of this.#spent) {
      if (until > nowMs) break;
      this.#spent.delete(token);
    }
    this.#spent.set(id, tokenUntilMs + slackMs);
    return taken!.passed;
  }

  /** The actor of a socket whose token was taken. */
  async open(facts: SocketFacts): Promise<SocketActor<E, O>> {
    const actor = await this.population.activate(
      facts.id,
      async () => new SocketActor<E, O>(this.#kind, facts, this.#inspector, () => this.population.discard(facts.id)),
    );
    return actor!;
  }

  /** The number of open sockets in each state. */
  states(): Record<string, number> {
    const open = Object.keys(this.#kind.machine.states).filter((state) => state !== 'minted' && state !== 'closed');
    const counts = Object.fromEntries(open.map((state) => [state, 0]));
    for (const { machine } of this.population.residents()) if (machine.state in counts) counts[machine.state]!++;
    return counts;
  }

  /** Closes the sockets of a workspace that is removed. */
  endAll(workspaceId: string): void {
    this.#sendAll('session.ended', (actor) => actor.identity.workspaceId === workspaceId);
  }

  /** Closes every socket, for the process ends. */
  drain(): void {
    this.#sendAll('drain', () => true);
  }

  #sendAll(type: 'session.ended' | 'drain', isMeant: (actor: SocketActor<E, O>) => boolean): void {
    const at = this.#clock.now();
    // Every machine of a socket has these two events.
    for (const actor of [...this.population.residents()]) if (isMeant(actor)) actor.send({ type, at } as unknown as E);
  }
}
