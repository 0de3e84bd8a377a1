/**
 * Actors of replies: those that the calls of this process think of, speak or settle. Nothing of them is stored, as a
 * call ends with its process.
 */
import {
  finalReplyStates,
  replyKind,
  type NewReply,
  type ReplyContext,
  type ReplyEvent,
  type ReplyOutcome,
} from '../../machines/reply.ts';
import { openActor, type MachineInstance } from '../actors/actor.ts';
import type { ActorIdentity, Inspector } from '../actors/inspector.ts';
import type { Cause } from '../store/store.ts';

export interface ReplyFacts extends NewReply {
  readonly id: string;
  readonly workspaceId: string;
  /** The request that became the call. */
  readonly cause: Cause;
}

export class ReplyActor {
  readonly identity: ActorIdentity;
  readonly machine: MachineInstance<ReplyEvent, ReplyOutcome, ReplyContext>;
  /** Number of its steps: nothing of a reply is stored. */
  version = 0;
  readonly #cause: Cause;
  readonly #inspector: Inspector;
  readonly #ended: () => void;

  constructor({ id, workspaceId, cause, ...input }: ReplyFacts, inspector: Inspector, ended: () => void) {
    this.identity = { kind: replyKind.name, id, workspaceId };
    this.#cause = cause;
    this.#inspector = inspector;
    this.#ended = ended;
    this.machine = openActor<ReplyEvent, ReplyOutcome, ReplyContext>(replyKind, { input }, this.identity, inspector);
    inspector.life('activated', this.identity, this.machine);
  }

  get state(): string {
    return this.machine.state;
  }

  get context(): ReplyContext {
    return this.machine.context;
  }

  send(event: ReplyEvent): ReplyOutcome[] {
    const decision = this.machine.decide(event);
    const { from, to, outcomes } = decision;
    if (finalReplyStates.has(from)) return outcomes;
    this.machine.publish(decision, ++this.version, this.#cause);
    if (finalReplyStates.has(to)) this.#ended();
    return outcomes;
  }

  passivated(): void {
    this.#inspector.life('passivated', this.identity, this.machine);
  }
}

/** The open replies of this process by their ids. */
class OpenReplies {
  readonly #open = new Map<string, ReplyActor>();

  get size(): number {
    return this.#open.size;
  }

  residents(): Iterable<ReplyActor> {
    return this.#open.values();
  }

  find(id: string): ReplyActor | undefined {
    return this.#open.get(id);
  }

  add(actor: ReplyActor): void {
    this.#open.set(actor.identity.id, actor);
  }

  discard(id: string): void {
    const actor = this.#open.get(id);
    this.#open.delete(id);
    actor?.passivated();
  }

  clear(): void {
    for (const id of [...this.#open.keys()]) this.discard(id);
  }
}

export class Replies {
  readonly population = new OpenReplies();
  readonly #inspector: Inspector;

  constructor(inspector: Inspector) {
    this.#inspector = inspector;
  }

  open(facts: ReplyFacts): ReplyActor {
    const actor = new ReplyActor(facts, this.#inspector, () => this.population.discard(facts.id));
    this.population.add(actor);
    return actor;
  }
}
