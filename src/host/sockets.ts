/** Socket actors: the transcription sockets that are open in this process. Nothing of them is stored, as a socket ends with its process. */
import { socketKind, type SocketEvent, type SocketOutcome } from '../../machines/socket.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Cause, Store } from '../store/store.ts';
import { openActor, type Stateful } from '../actors/actor.ts';
import { nobody } from '../actors/cause.ts';
import { isRefused, type ActorIdentity, type Inspector } from '../actors/inspector.ts';
import { Population, type Resident } from '../actors/population.ts';

/** The token, workspace and session that an open socket belongs to. */
export interface SocketFacts {
  /** The id of its token. */
  readonly id: string;
  readonly workspaceId: string;
  readonly tokenUntilMs: number;
  /** Unix seconds; null without a session. */
  readonly expiresAt: number | null;
  /** The request that became the socket. */
  readonly cause: Cause;
}

/** The events that no message of the client causes. */
const ofItself: ReadonlySet<SocketEvent['type']> = new Set(['tick', 'drain', 'session.ended']);

export class SocketActor implements Resident {
  readonly identity: ActorIdentity;
  readonly machine: Stateful<SocketEvent, SocketOutcome>;
  /** A socket is in use until it is closed. */
  readonly busy = true;
  usedAt = 0;
  readonly #inspector: Inspector;
  readonly #over: () => void;
  /** The request that became the socket. */
  readonly cause: Cause;
  /** Nothing of a socket is stored: its steps are the events that it did not refuse. */
  version = 0;
  /** Called when the machine decides, beyond the answer to an event, that the socket closes. */
  onClosed: (closed: Extract<SocketOutcome, { type: 'socket.closed' }>) => void = () => {};

  constructor({ id, workspaceId, tokenUntilMs, expiresAt, cause }: SocketFacts, inspector: Inspector, over: () => void) {
    this.identity = { kind: 'socket', id, workspaceId };
    this.machine = openActor<SocketEvent, SocketOutcome>(socketKind, { input: { tokenUntil: tokenUntilMs, expiresAt } }, this.identity, inspector);
    this.#inspector = inspector;
    this.#over = over;
    this.cause = cause;
    inspector.life('activated', this.identity, this.machine);
  }

  get closed(): boolean {
    return this.machine.state === 'closed';
  }

  send(event: SocketEvent): SocketOutcome[] {
    const decision = this.machine.decide(event);
    const { outcomes } = decision;
    if (!isRefused(outcomes)) this.version++;
    this.machine.tell(decision, this.version, ofItself.has(event.type) ? nobody : this.cause);
    const closed = outcomes.find((outcome) => outcome.type === 'socket.closed');
    if (closed !== undefined) {
      this.onClosed(closed as Extract<SocketOutcome, { type: 'socket.closed' }>);
      this.#over();
    }
    return outcomes;
  }

  passivated(): void {
    this.#inspector.life('passivated', this.identity, this.machine);
  }
}

/** How long beyond a token's time its opening is remembered: processes' clocks may differ. */
const slackMs = 5 * 60_000;

export class Sockets {
  readonly population: Population<SocketActor>;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #inspector: Inspector;
  /** Tokens that were opened in this process lately, and when they can be forgotten. */
  readonly #spent = new Map<string, number>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    this.#store = store;
    this.#clock = clock;
    this.#inspector = inspector;
    this.population = new Population(clock, limits);
  }

  /** Whether this process has opened a socket with the token. Another process may have. */
  isSpent(tokenId: string): boolean {
    return this.#spent.has(tokenId);
  }

  /** Takes the token for this socket: false if another one has it. Exact across processes. */
  async spend({ id, workspaceId, tokenUntilMs }: SocketFacts, holder: string): Promise<boolean> {
    const nowMs = this.#clock.now();
    const [taken] = await this.#store.limits.take({
      workspaceId,
      asked: [{ kind: 'place', name: `transcription/${id}`, ceiling: 1, holder, untilMs: tokenUntilMs + slackMs }],
      nowMs,
    });
    for (const [known, until] of this.#spent) {
      if (until > nowMs) break;
      this.#spent.delete(known);
    }
    this.#spent.set(id, tokenUntilMs + slackMs);
    return taken!.passed;
  }

  /** The actor of a socket whose token was taken. */
  async open(facts: SocketFacts): Promise<SocketActor> {
    const actor = await this.population.activate(facts.id, async () => new SocketActor(facts, this.#inspector, () => this.population.discard(facts.id)));
    return actor!;
  }

  /** Closes the sockets of a workspace that is removed. */
  endAll(workspaceId: string): void {
    const at = this.#clock.now();
    for (const actor of [...this.population.residents()]) if (actor.identity.workspaceId === workspaceId) actor.send({ type: 'session.ended', at });
  }

  /** Closes every socket, for the process ends. */
  drain(): void {
    const at = this.#clock.now();
    for (const actor of [...this.population.residents()]) actor.send({ type: 'drain', at });
  }
}
