/** The releases of the live assistants, as the charts show them: the state of each follows from its assistant's record. */
import { releaseKind } from '../../machines/release.ts';
import type { ActorIdentity } from '../actors/inspector.ts';
import type { Snapshot } from '../store/store.ts';
import type { AssistantActor, Assistants } from './assistants.ts';
import { releaseSnapshot } from './release.ts';

interface LiveRelease {
  readonly identity: ActorIdentity;
  readonly machine: Snapshot;
  readonly version: number;
}

export class LiveReleases {
  readonly #assistants: Assistants['population'];

  constructor(assistants: Assistants) {
    this.#assistants = assistants.population;
  }

  get size(): number {
    return this.#assistants.size;
  }

  residents(): LiveRelease[] {
    return [...this.#assistants.residents()].map(releaseOf);
  }

  find(id: string): LiveRelease | undefined {
    const actor = this.#assistants.find(id);
    return actor && releaseOf(actor);
  }

  /** The assistants are discarded themselves. */
  discard(): void {}

  clear(): void {}
}

const releaseOf = ({ identity, record, version }: AssistantActor): LiveRelease => ({
  identity: { ...identity, kind: releaseKind.name },
  machine: releaseSnapshot(record.release ?? null),
  version,
});
