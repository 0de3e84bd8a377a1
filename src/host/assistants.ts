/** Assistant actors: configuration and state. Every request sees the newest ones at once. */
import {
  assistantKind,
  assistantVersion,
  type AssistantEvent,
  type AssistantOutcome,
} from '../../machines/assistant.ts';
import type { Clock } from '../clock.ts';
import type { ErrorName } from '../errors.ts';
import type { Assistant, Store } from '../store.ts';
import { openActor, refusalOf } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';

export type AssistantActor = CatalogActor<'assistant', AssistantEvent, AssistantOutcome>;
export type AssistantVerb = 'publish' | 'unpublish' | 'disable' | 'enable';

/** The answer of an assistant's machine to `converse` in a state. */
interface Conversing {
  readonly state: string;
  readonly refusal: ErrorName | null;
}

export class Assistants extends CatalogActors<'assistant', AssistantEvent, AssistantOutcome> {
  readonly #conversing = new WeakMap<object, Conversing>();

  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'assistant',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) =>
        openActor<AssistantEvent, AssistantOutcome>(assistantKind, { snapshot: record.machine }, identity, inspector),
    });
  }

  /** Why the assistant does not converse; null if it does. `converse` does not move the machine, so the answer is cached for each state. */
  refusal({ machine }: AssistantActor): ErrorName | null {
    const { state } = machine;
    const known = this.#conversing.get(machine);
    if (known?.state === state && !this.options.inspector.watched) return known.refusal;
    const refusal = refusalOf(machine.send({ type: 'converse' }));
    this.#conversing.set(machine, { state, refusal });
    return refusal;
  }

  /** Why the assistant answers no trial of the console; null if it does. A draft does. */
  trialRefusal({ machine }: AssistantActor): ErrorName | null {
    return refusalOf(machine.send({ type: 'rehearse' }));
  }

  /** Why the assistant neither speaks nor listens; null if it does. */
  voiceRefusal({ machine }: AssistantActor): ErrorName | null {
    return refusalOf(machine.send({ type: 'speak' }));
  }

  /** Applies one of the console's verbs. */
  move(workspaceId: string, id: string, verb: AssistantVerb, at: number): Promise<AssistantActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const moved = actor.machine.send({ type: verb }).some(({ type }) => type === 'moved');
      return moved ? { ...actor.record, updatedAt: at, machine: actor.machine.snapshot() } : actor.record;
    });
  }

  /** Replaces the configuration; the machine is notified whether the assistant has a voice. */
  configure(workspaceId: string, id: string, change: (record: Assistant) => Assistant): Promise<AssistantActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const record = change(actor.record);
      actor.machine.send({ type: 'configure', voice: record.channels.voice });
      return { ...record, machine: actor.machine.snapshot() };
    });
  }
}

/** The snapshot of a new draft. */
export const draftSnapshot = (voice: boolean) => ({ version: assistantVersion, state: 'draft', context: { voice } });
