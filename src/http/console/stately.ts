/**
 * The feed in the messages of Stately's inspection protocol: `@xstate.actor`, `@xstate.event` and `@xstate.snapshot`,
 * as `@statelyai/inspect` 0.7 writes and reads them. A workspace is the root of its actors.
 */
import { configurationOf, type ActorKind } from '../../../machines/all.ts';
import type { ActorIdentity, Inspected } from '../../actors/inspector.ts';
import type { FeedFormat } from './feed-format.ts';

/** The version of `@statelyai/inspect` whose messages these are. */
const protocolVersion = '0.7.2';

type Snapshot = { readonly state: string; readonly context: unknown };

export class StatelyFormat implements FeedFormat {
  /** The actors that were introduced. A viewer draws nothing of an actor whose definition it does not have. */
  readonly #known = new Set<string>();

  actors(actors: readonly ({ readonly actor: ActorIdentity } & Snapshot)[], at: number): object[] {
    return actors.map(({ actor, ...snapshot }) => this.#introduce(actor, snapshot, at));
  }

  inspected(inspected: Inspected): object[] {
    const { actor, at, context } = inspected;
    if (inspected.type === 'activated') return [this.#introduce(actor, inspected, at)];
    if (inspected.type !== 'event') {
      this.#known.delete(actor.id);
      return [
        {
          type: '@xstate.snapshot',
          ...base(actor, at),
          event: { type: 'passivated' },
          snapshot: snapshotOf(inspected, 'stopped'),
        },
      ];
    }
    const { event, from, to, outcomes, refused } = inspected;
    const shown = refused ? { ...event, refused: codeOf(outcomes) } : event;
    return [
      ...(this.#known.has(actor.id) ? [] : [this.#introduce(actor, { state: from, context }, at)]),
      { type: '@xstate.event', ...base(actor, at), event: shown },
      { type: '@xstate.snapshot', ...base(actor, at), event: shown, snapshot: snapshotOf({ state: to, context }) },
    ];
  }

  /** The protocol has no message for it. The dropped messages may have been introductions. */
  dropped(): object[] {
    this.#known.clear();
    return [];
  }

  #introduce(actor: ActorIdentity, snapshot: Snapshot, at: number): object {
    this.#known.add(actor.id);
    const parent = actor.kind === 'workspace' ? {} : { parentId: actor.workspaceId };
    return {
      type: '@xstate.actor',
      ...base(actor, at),
      name: actor.kind,
      ...parent,
      definition: definitionOf(actor.kind as ActorKind),
      snapshot: snapshotOf(snapshot),
    };
  }
}

const base = ({ id, workspaceId }: ActorIdentity, at: number) => ({
  sessionId: id,
  rootId: workspaceId,
  createdAt: String(at),
  id: null,
  _version: protocolVersion,
});

const snapshotOf = ({ state, context }: Snapshot, status = 'active') => ({ status, value: state, context });

const codeOf = (outcomes: readonly { readonly type: string }[]): unknown =>
  (outcomes.find(({ type }) => type === 'refused') as { code?: string }).code;

const definitions = new Map<ActorKind, string>();

function definitionOf(kind: ActorKind): string {
  let definition = definitions.get(kind);
  if (definition === undefined) definitions.set(kind, (definition = JSON.stringify(configurationOf(kind))));
  return definition;
}
