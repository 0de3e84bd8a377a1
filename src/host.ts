/**
 * The host: actors are activated on demand, take one event at a time and are passivated when idle. For each event it
 * decides, commits, acts and only then answers (idea 2 of the architecture).
 */
import type { Clock, Timer } from './clock.ts';
import { Assistants } from './host/assistants.ts';
import { ForeignTurns } from './host/foreign.ts';
import { Inspector, type ActorIdentity } from './host/inspector.ts';
import { Keys } from './host/keys.ts';
import { Mailbox } from './host/mailbox.ts';
import { Outage } from './host/outage.ts';
import { Sessions } from './host/sessions.ts';
import { Turns } from './host/turns.ts';
import { Workspaces } from './host/workspaces.ts';
import type { Ids } from './ids.ts';
import { limits } from './limits.ts';
import type { Log } from './log.ts';
import type { Notice, Store } from './store.ts';

/** Of the process's random name, in the marks of sessions: 60 bits. */
const markCharacters = 12;

export class Host {
  readonly inspector = new Inspector();
  readonly workspaces: Workspaces;
  readonly assistants: Assistants;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly foreign: ForeignTurns;
  /** Changes of credentials, which have no actor, one at a time. */
  readonly credentials = new Mailbox();
  readonly #store: Store;
  readonly #clock: Clock;
  readonly outage: Outage;
  /** Told of credentials that another process has changed or removed: one, all of a workspace, or (nothing given) perhaps any. */
  onCredentials: (workspaceId?: string, id?: string) => void = () => {};
  #sweep: Timer | null = null;
  #orphanage: Timer | null = null;
  #listening: Timer | null = null;
  #unwatch: (() => Promise<void>) | null = null;
  #closed = false;

  constructor(store: Store, clock: Clock, ids: Ids, log: Log, turnMsMax: number) {
    const { inspector } = this;
    this.#store = store;
    this.#clock = clock;
    this.outage = new Outage(clock, log);
    this.workspaces = new Workspaces(store, clock, inspector);
    this.assistants = new Assistants(store, clock, inspector);
    this.keys = new Keys(store, clock, inspector);
    this.foreign = new ForeignTurns(store, clock);
    const owner = ids.secret();
    let moves = 0;
    const mark = (): string => `${owner.slice(0, markCharacters)}${(moves++).toString(36)}`;
    this.sessions = new Sessions({ store, clock, ids, inspector, foreign: this.foreign, turnMsMax, owner, mark });
    this.turns = new Turns(this.sessions, this.workspaces);
  }

  /** Begins to hear other processes and to sweep, until `close`. Resolves after the first sweep; never rejects. */
  async start(): Promise<void> {
    if (this.#store.leaseMs !== null) this.#listen();
    this.#orphanage = this.#clock.after(limits.orphansMs, () => void this.#sealAgain());
    await this.#sweepAll();
  }

  /** Notices make quick what is sure without them: an owner hears of a stop with its next renewal, and nothing stays fresh unasked. */
  #listen(): void {
    const watching = this.#store.watch((notice) => this.#hear(notice));
    watching.then(
      (unwatch) => (this.#closed ? void unwatch().catch(() => {}) : (this.#unwatch = unwatch)),
      () => (this.#listening = this.#clock.after(limits.sweepAgainMs, () => this.#listen())),
    );
  }

  #hear(notice: Notice): void {
    if (notice.type === 'turn.stop') {
      const runner = this.sessions.population.peek(notice.sessionId)?.runner;
      if (runner?.turnId === notice.turnId) void runner.stop(notice.reason);
      return;
    }
    if (notice.type === 'turn.moved') return this.foreign.wake(notice.turnId);
    if (notice.type === 'missed') {
      this.foreign.wakeAll();
      this.onCredentials();
    } else if (notice.kind === 'credential') this.onCredentials(notice.workspaceId, notice.id);
    else if (notice.kind === 'workspace') this.onCredentials(notice.id);
    for (const actors of [this.workspaces, this.assistants, this.keys]) {
      if (notice.type === 'missed') actors.doubtAll();
      else if (notice.kind === actors.kind) actors.doubt(notice.id);
    }
  }

  /** Turns of processes that died, and those that the store would not take when they were to be sealed, need no wait for the great sweep. */
  async #sealAgain(): Promise<void> {
    try {
      // A look may have nothing to ask: whether the store is back is for the store to say.
      if (this.outage.lasts) await this.#store.ping();
      this.outage.answered();
      await this.#sealOrphans();
    } catch (error) {
      this.outage.failed(error);
    }
    if (!this.#closed) this.#orphanage = this.#clock.after(limits.orphansMs, () => void this.#sealAgain());
  }

  async #sweepAll(): Promise<void> {
    let swept = 0;
    try {
      await this.#sealOrphans();
      swept = await this.#store.sweep(this.#clock.now(), limits.sweepSessionsMax);
      this.outage.answered();
    } catch (error) {
      this.outage.failed(error);
    }
    // A sweep that stopped at its bound has more to do.
    const waitMs = swept < limits.sweepSessionsMax ? limits.sweepMs : limits.sweepAgainMs;
    if (!this.#closed) this.#sweep = this.#clock.after(waitMs, () => void this.#sweepAll());
  }

  close(): void {
    this.#closed = true;
    for (const timer of [this.#sweep, this.#orphanage, this.#listening]) timer?.cancel();
    this.#unwatch?.().catch(() => {});
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
