/** Assistant actors: configuration and state, the newest at once for every request. */
import {
  assistantMachine,
  assistantVersion,
  type AssistantEvent,
  type AssistantOutcome,
} from '../../machines/assistant.ts';
import type { Clock } from '../clock.ts';
import type { Assistant, Store } from '../store.ts';
import { openActor } from './actor.ts';
import type { Inspector } from './inspector.ts';
import { CatalogActors, type CatalogActor } from './residents.ts';

export type AssistantActor = CatalogActor<'assistant', AssistantEvent, AssistantOutcome>;
export type AssistantVerb = 'publish' | 'unpublish' | 'disable' | 'enable';

export class Assistants extends CatalogActors<'assistant', AssistantEvent, AssistantOutcome> {
  constructor(store: Store, clock: Clock, inspector: Inspector) {
    super({
      kind: 'assistant',
      catalog: store.catalog,
      clock,
      shared: store.leaseMs !== null,
      inspector,
      open: (record, identity) =>
        openActor<AssistantEvent, AssistantOutcome>(assistantMachine, assistantVersion, { snapshot: record.machine }, identity, inspector),
    });
  }

  /** One of the console's verbs. */
  move(workspaceId: string, id: string, verb: AssistantVerb, at: number): Promise<AssistantActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const moved = actor.machine.send({ type: verb }).some(({ type }) => type === 'moved');
      return moved ? { ...actor.record, updatedAt: at, machine: actor.machine.snapshot() } : actor.record;
    });
  }

  /** Replaces the configuration; the machine learns whether it has a voice. */
  configure(workspaceId: string, id: string, change: (record: Assistant) => Assistant): Promise<AssistantActor | null> {
    return this.change(workspaceId, id, (actor) => {
      const record = change(actor.record);
      actor.machine.send({ type: 'configure', voice: record.channels.voice });
      return { ...record, machine: actor.machine.snapshot() };
    });
  }
}

/** A draft's machine at its beginning. */
export const draftSnapshot = (voice: boolean) => ({ version: assistantVersion, state: 'draft', context: { voice } });
