/**
 * The host: actors are activated on demand, take one event at a time and are passivated when idle. For each event it
 * decides, commits, acts and only then answers (idea 2 of the architecture).
 */
import type { Clock, Timer } from './clock.ts';
import { Assistants } from './host/assistants.ts';
import { Inspector, type ActorIdentity } from './host/inspector.ts';
import { Keys } from './host/keys.ts';
import { Mailbox } from './host/mailbox.ts';
import { Sessions } from './host/sessions.ts';
import { Turns } from './host/turns.ts';
import { Workspaces } from './host/workspaces.ts';
import type { Ids } from './ids.ts';
import { limits } from './limits.ts';
import type { Log } from './log.ts';
import type { Store } from './store.ts';

export class Host {
  readonly inspector = new Inspector();
  readonly workspaces: Workspaces;
  readonly assistants: Assistants;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly turns: Turns;
  /** Changes of credentials, which have no actor, one at a time. */
  readonly credentials = new Mailbox();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Log;
  #sweep: Timer | null = null;
  #closed = false;

  constructor(store: Store, clock: Clock, ids: Ids, log: Log, turnMsMax: number) {
    const { inspector } = this;
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
    this.workspaces = new Workspaces(store, clock, inspector);
    this.assistants = new Assistants(store, clock, inspector);
    this.keys = new Keys(store, clock, inspector);
    this.sessions = new Sessions({ store, clock, ids, inspector, turnMsMax, owner: ids.secret() });
    this.turns = new Turns(this.sessions, this.workspaces);
  }

  /** Seals what dead processes left behind, and goes on sweeping until `close`. Never rejects. */
  async start(): Promise<void> {
    let swept = 0;
    try {
      await this.#sealOrphans();
      swept = await this.#store.sweep(this.#clock.now(), limits.sweepSessionsMax);
    } catch (error) {
      this.#log.error({ err: error }, 'sweep failed');
    }
    // A sweep that stopped at its bound has more to do.
    const waitMs = swept < limits.sweepSessionsMax ? limits.sweepMs : limits.sweepAgainMs;
    if (!this.#closed) this.#sweep = this.#clock.after(waitMs, () => void this.start());
  }

  close(): void {
    this.#closed = true;
    this.#sweep?.cancel();
    for (const actors of [this.workspaces, this.assistants, this.keys, this.sessions]) actors.population.clear();
  }

  /** Removes a workspace with all that it holds: its turns are stopped, and its keys and sessions are unknown from then on. */
  async removeWorkspace(id: string): Promise<boolean> {
    const running = [...this.sessions.population.residents()].filter((actor) => actor.record.workspaceId === id);
    await Promise.all(running.map((actor) => actor.runner?.stop('aborted')));
    const removed = await this.workspaces.remove(id, id);
    for (const { population } of [this.assistants, this.keys, this.sessions]) {
      for (const { identity } of [...population.residents()]) {
        if (identity.workspaceId === id) population.discard(identity.id);
      }
    }
    return removed;
  }

  /** How many actors of each kind are awake. */
  census(): Record<string, number> {
    return {
      workspace: this.workspaces.population.size,
      assistant: this.assistants.population.size,
      key: this.keys.population.size,
      session: this.sessions.population.size,
    };
  }

  /** Everyone who is awake, as the charts show it. */
  awake(): { actor: ActorIdentity; state: string; context: unknown }[] {
    return [this.workspaces, this.assistants, this.keys, this.sessions].flatMap(({ population }) =>
      [...population.residents()].map(({ identity, machine }) => ({ actor: identity, state: machine.state, context: machine.context })),
    );
  }

  async #sealOrphans(): Promise<void> {
    const orphans = await this.#store.orphans(this.#clock.now(), limits.sweepSessionsMax);
    for (const { workspaceId, sessionId } of orphans) {
      // Waking the session seals its turn.
      await this.sessions.of(workspaceId, sessionId);
    }
  }
}
