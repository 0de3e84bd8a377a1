/**
 * The host of a process: constructs its actors and turns and keeps them. It listens to other processes, sweeps, seals
 * turns of dead processes and removes workspaces. Actors are activated on demand, take one event at a time and are
 * passivated when idle; each event is decided, committed, acted upon and then answered.
 */
import type { ActorKind } from '../machines/all.ts';
import type { Attendant } from '../machines/attendance.ts';
import { callKind, type CallEvent, type CallOutcome } from '../machines/call.ts';
import { socketKind, type SocketEvent, type SocketOutcome } from '../machines/socket.ts';
import type { Clock, Timer } from './base/clock.ts';
import { ClockChanges } from './base/clock-changes.ts';
import { UnreadableSnapshot } from './actors/actor.ts';
import { Assistants } from './host/assistants.ts';
import { Credentials } from './host/credentials.ts';
import { Deadlines } from './host/deadlines.ts';
import { ToolRecords } from './host/tools.ts';
import { Feed, type Awake } from './host/feed.ts';
import type { LoopLoad } from './turn/pace.ts';
import { RemoteTurns } from './turn/remote-turns.ts';
import { Inspector, type ActorIdentity } from './actors/inspector.ts';
import { Keys } from './host/keys.ts';
import { Outage } from './host/outage.ts';
import type { Population, Resident } from './actors/population.ts';
import { Erasures } from './turn/erasures.ts';
import { Attendances, type DeskCounts } from './turn/attendances.ts';
import { Takeovers } from './turn/takeovers.ts';
import { Sessions } from './turn/sessions.ts';
import { SessionStreams } from './turn/session-stream.ts';
import { Turns } from './turn/turns.ts';
import { Withdrawals } from './turn/withdrawals.ts';
import type { Tracer } from './base/tracing.ts';
import { LiveReleases } from './host/live-releases.ts';
import { LiveRuns } from './host/live-runs.ts';
import { Replies } from './host/replies.ts';
import { SessionFollowers } from './host/session-followers.ts';
import { Sockets } from './host/sockets.ts';
import { Versions } from './host/versions.ts';
import { Visitors } from './host/visitors.ts';
import { Workspaces } from './host/workspaces.ts';
import type { Ids } from './base/ids.ts';
import { limits } from './base/limits.ts';
import type { Log } from './base/log.ts';
import { nobody } from './actors/cause.ts';
import { sweepAudit } from './store/parts/audit.ts';
import { StoreUnavailable, type Cause, type Erasure, type Notice, type Store } from './store/store.ts';

/** Milliseconds between two removals of old rows of the audit. */
const auditSweepMs = 3600_000;

/** Characters of the process's random name in the marks of sessions: 60 bits. */
const markCharacters = 12;

/** A live actor of any kind. */
interface LiveActor {
  readonly identity: ActorIdentity;
  readonly machine: { readonly state: string; readonly context: unknown };
  /** The number of its newest step. */
  readonly version: number;
}

/** The live actors of one kind. */
interface LiveActors extends Pick<Population<Resident>, 'size' | 'discard' | 'clear'> {
  residents(): Iterable<LiveActor>;
  find(id: string): LiveActor | undefined;
}

export class Host {
  readonly inspector: Inspector;
  readonly feed: Feed;
  readonly workspaces: Workspaces;
  readonly assistants: Assistants;
  readonly keys: Keys;
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly attendances: Attendances;
  readonly erasures: Erasures;
  readonly remote: RemoteTurns;
  readonly credentials: Credentials;
  readonly tools: ToolRecords;
  readonly versions: Versions;
  /** Transcription sockets. */
  readonly sockets: Sockets<SocketEvent, SocketOutcome>;
  readonly calls: Sockets<CallEvent, CallOutcome>;
  readonly replies: Replies;
  /** Runs of tests. */
  readonly runs: LiveRuns;
  readonly visitors: Visitors;
  readonly followers = new SessionFollowers();
  readonly streams: SessionStreams;
  /**
   * Milliseconds for which a visitor's message takes a place: it outlasts the turn, or a visitor whose turn runs could
   * lose it.
   */
  readonly placeMsMax: number;
  /** The actors, by kind. */
  readonly #actors: Readonly<Record<ActorKind, { readonly population: LiveActors }>>;
  readonly #store: Store;
  readonly #withdrawals: Withdrawals;
  readonly #deadlines: Deadlines;
  readonly #clock: Clock;
  readonly #clockChanges: ClockChanges;
  readonly outage: Outage;
  /**
   * Called when another process has changed or removed credentials: one, all of a workspace, or (without arguments)
   * perhaps any.
   */
  onCredentials: (workspaceId?: string, id?: string) => void = () => {};
  /** Milliseconds since the epoch until which a person of the desk counts as present. */
  presentUntilMs: (person: Attendant) => number | Promise<number> = () => Infinity;
  /** Called for each session that a person takes after its visitor has waited. */
  onTaken: (waitedMs: number) => void = () => {};
  onDeskCounted: (counts: DeskCounts) => void = () => {};
  #sweep: Timer | null = null;
  /** The monotonic time from which the audit's old rows are removed again. */
  #nextAuditSweepMs = 0;
  #orphanage: Timer | null = null;
  #listening: Timer | null = null;
  #unwatch: (() => Promise<void>) | null = null;
  #closed = false;
  readonly #log: Log;
  /** Messages already logged about snapshots that this version cannot read: one for each version. */
  readonly #unreadable = new Set<string>();

  constructor(
    store: Store,
    clock: Clock,
    ids: Ids,
    log: Log,
    turnMsMax: number,
    loopLoad?: LoopLoad,
    tracer: Tracer | null = null,
  ) {
    const inspector = (this.inspector = new Inspector(() => clock.now()));
    this.#store = store;
    this.#clock = clock;
    this.#clockChanges = new ClockChanges(clock);
    this.#log = log;
    this.outage = new Outage(clock, log);
    this.placeMsMax = turnMsMax + limits.linkHoldMs;
    this.workspaces = new Workspaces(store, clock, inspector);
    this.assistants = new Assistants(store, clock, inspector);
    this.keys = new Keys(store, clock, inspector);
    this.credentials = new Credentials(store.catalog, clock);
    this.tools = new ToolRecords(store.catalog, clock);
    this.versions = new Versions(store.catalog);
    this.sockets = new Sockets(socketKind, 'transcription', store, clock, inspector);
    this.calls = new Sockets(callKind, 'call', store, clock, inspector);
    this.replies = new Replies(inspector);
    this.runs = new LiveRuns(inspector);
    this.visitors = new Visitors(store, clock, inspector);
    this.remote = new RemoteTurns(store, clock);
    const owner = ids.secret();
    let moves = 0;
    const mark = (): string => `${owner.slice(0, markCharacters)}${(moves++).toString(36)}`;
    this.#withdrawals = new Withdrawals({ store, clock, inspector, owner, mark });
    const withdrawals = this.#withdrawals;
    this.sessions = new Sessions({
      store,
      clock,
      ids,
      inspector,
      remote: this.remote,
      withdrawals,
      visitors: this.visitors,
      takeovers: new Takeovers(),
      turnMsMax,
      owner,
      mark,
      loopLoad,
      tracer,
    });
    this.attendances = new Attendances({
      sessions: this.sessions,
      assistants: this.assistants,
      presentUntilMs: (person) => this.presentUntilMs(person),
      onTaken: (waitedMs) => this.onTaken(waitedMs),
      onCounted: (counts) => this.onDeskCounted(counts),
    });
    this.turns = new Turns(this.sessions, this.workspaces, this.keys, this.attendances);
    const { sessions, remote, followers } = this;
    this.streams = new SessionStreams({ store, clock, sessions, remote, withdrawals, followers });
    this.erasures = new Erasures({
      store,
      clock,
      sessions: this.sessions,
      drop: (erased) => this.#dropErased(erased),
      failed: (err) => log.error({ err }, 'An erasure failed. The next sweep tries again.'),
    });
    this.#deadlines = new Deadlines({
      store,
      clock,
      expire: async ({ workspaceId, sessionId }) => {
        const actor = await this.sessions.of(workspaceId, sessionId);
        if (actor !== null) await this.sessions.send(actor, (at) => ({ type: 'tick', at }));
      },
      failed(err) {
        if (!(err instanceof StoreUnavailable))
          log.warn({ err }, 'A session past its deadline could not be expired. The next search tries again.');
      },
    });
    const { pubSub } = store;
    this.feed = new Feed({
      inspector,
      clock,
      pubSub,
      self: owner,
      awake: () => this.awake(),
      isAwake: ({ kind, id }) => this.#isAwake(kind, id),
    });
    this.#actors = {
      workspace: this.workspaces,
      assistant: this.assistants,
      release: { population: new LiveReleases(this.assistants) },
      run: { population: this.runs },
      key: this.keys,
      session: this.sessions,
      attendance: this.attendances,
      turn: this.turns,
      call: this.calls,
      reply: this.replies,
      socket: this.sockets,
      visitor: this.visitors,
    };
  }

  /** Begins to listen to other processes and to sweep, until `close`. Resolves after the first sweep; never rejects. */
  async start(): Promise<void> {
    this.#listen();
    this.feed.start();
    this.#deadlines.start();
    this.attendances.start();
    this.#orphanage = this.#clock.after(limits.orphansMs, () => void this.#sealAgain());
    await this.#sweepAll();
  }

  /**
   * Notices only save time: without them an owner gets a stop request with its next renewal, and cached records are
   * read again after `catalogFreshMs`.
   */
  #listen(): void {
    const watching = this.#store.watch((notice) => this.#hear(notice));
    watching.then(
      (unwatch) => (this.#closed ? void unwatch().catch(() => {}) : (this.#unwatch = unwatch)),
      () => (this.#listening = this.#clock.after(limits.sweepAgainMs, () => this.#listen())),
    );
  }

  #hear(notice: Notice): void {
    if (notice.type === 'session.moved') return this.followers.wake(notice.sessionId);
    // The only owner of a store has acted upon its own steps already, but for a step that halts a rollout.
    if (this.#store.leaseMs === null) {
      if (notice.type === 'changed' && notice.kind === 'assistant') this.assistants.doubt(notice.id);
      return;
    }
    if (notice.type === 'turn.stop') {
      const runner = this.sessions.population.peek(notice.sessionId)?.runner;
      if (runner?.turnId === notice.turnId) void runner.stop(notice.reason);
      return;
    }
    if (notice.type === 'turn.moved') return this.remote.wake(notice.turnId);
    if (notice.type === 'erased') return this.#dropErased(notice);
    if (notice.type === 'missed') {
      this.remote.wakeAll();
      this.followers.wakeAll();
      this.forgetCredentials();
      this.tools.forget();
      this.versions.forget();
      this.turns.forgetMessages();
    } else if (notice.kind === 'credential') this.forgetCredentials(notice.workspaceId, notice.id);
    else if (notice.kind === 'tool') this.tools.forget(notice.workspaceId, notice.id);
    else if (notice.kind === 'workspace') {
      this.forgetCredentials(notice.id);
      this.followers.wakeAll();
    }
    for (const actors of [this.workspaces, this.assistants, this.keys]) {
      if (notice.type === 'missed') actors.doubtAll();
      else if (notice.kind === actors.kind) actors.doubt(notice.id);
      // The workspace may have been removed with its contents.
      else if (notice.kind === 'workspace') actors.doubtAll(notice.id);
    }
  }

  /**
   * Drops the copies that this process and `onCredentials` keep of one credential, of all of a workspace, or of all.
   */
  forgetCredentials(workspaceId?: string, id?: string): void {
    this.credentials.forget(workspaceId, id);
    this.onCredentials(workspaceId, id);
  }

  /**
   * Seals turns of dead processes, and turns that the store did not accept when they were sealed first, without waiting
   * for the next full sweep.
   */
  async #sealAgain(): Promise<void> {
    if (this.#clockChanges.readSetMs() !== 0) this.turns.watchDeadlines();
    try {
      // Finding orphans may need no request to the store, so only a ping says whether the store is back.
      if (this.outage.lasts) await this.#store.ping();
      this.outage.noteAnswer();
      await this.#sealOrphans();
    } catch (error) {
      this.outage.noteFailure(error);
    }
    if (!this.#closed) this.#orphanage = this.#clock.after(limits.orphansMs, () => void this.#sealAgain());
  }

  /** Removes the audit's rows that are older than they are kept: a bounded number each time, and once an hour. */
  async #sweepAudit(): Promise<void> {
    if (this.#clock.monotonic() < this.#nextAuditSweepMs) return;
    try {
      const more = await sweepAudit(this.#store.catalog, this.#clock);
      this.#nextAuditSweepMs = this.#clock.monotonic() + (more ? 0 : auditSweepMs);
    } catch (err) {
      this.#log.warn({ err }, 'Old rows of the audit could not be removed. The next sweep tries again.');
    }
  }

  async #sweepAll(): Promise<void> {
    let swept = 0;
    try {
      await this.#sealOrphans();
      const now = this.#clock.now();
      swept = await this.#store.sweep(now, limits.sweepSessionsMax, await this.#store.noteTime(now));
      this.outage.noteAnswer();
      void this.erasures.resume();
    } catch (error) {
      this.outage.noteFailure(error);
    }
    await this.#sweepAudit();
    // A sweep that stopped at its bound has more sessions to delete.
    const waitMs = swept < limits.sweepSessionsMax ? limits.sweepMs : limits.sweepAgainMs;
    if (!this.#closed) this.#sweep = this.#clock.after(waitMs, () => void this.#sweepAll());
  }

  close(): void {
    this.#closed = true;
    for (const timer of [this.#sweep, this.#orphanage, this.#listening]) timer?.cancel();
    this.#unwatch?.().catch(() => {});
    this.feed.close();
    this.#withdrawals.close();
    this.attendances.close();
    this.#deadlines.close();
    this.erasures.close();
    for (const { population } of Object.values(this.#actors)) population.clear();
  }

  /** Removes a workspace with its contents: its turns are stopped, and its keys and sessions are unknown afterwards. */
  async removeWorkspace(id: string, cause: Cause = nobody): Promise<boolean> {
    const running = [...this.sessions.population.residents()].filter((actor) => actor.record.workspaceId === id);
    await Promise.all(running.map((actor) => actor.runner?.stop('aborted')));
    // Before the removal, so that their audio is counted with the rest; a socket that opens meanwhile finds the removal
    // by itself.
    this.#endSockets(id);
    const removed = await this.workspaces.remove(id, id, cause);
    this.#endSockets(id);
    this.forgetCredentials(id);
    this.followers.wakeAll();
    for (const { population } of Object.values(this.#actors)) {
      for (const { identity } of [...population.residents()]) {
        if (identity.workspaceId === id) population.discard(identity.id);
      }
    }
    return removed;
  }

  #endSockets(workspaceId: string): void {
    for (const sockets of [this.sockets, this.calls]) sockets.endAll(workspaceId);
  }

  /** Drops the copies that this process has of an erased session or visitor. */
  #dropErased({ workspaceId, kind, id }: Erasure): void {
    const { population } = kind === 'session' ? this.sessions : this.visitors;
    // An id of another workspace was not erased.
    if ((population.find(id)?.identity.workspaceId ?? workspaceId) !== workspaceId) return;
    if (kind === 'session') {
      void this.sessions.population.find(id)?.runner?.stop('aborted');
      this.turns.forgetMessages(id);
    }
    population.discard(id);
  }

  /** Whether the actor is live here. A process of a later version may name a kind that this version does not have. */
  #isAwake(kind: string, id: string): boolean {
    const actors: Partial<Record<string, { readonly population: LiveActors }>> = this.#actors;
    return actors[kind]?.population.find(id) !== undefined;
  }

  /** The number of live actors of each kind. */
  census(): Record<ActorKind, number> {
    return Object.fromEntries(
      Object.entries(this.#actors).map(([kind, { population }]) => [kind, population.size]),
    ) as Record<ActorKind, number>;
  }

  /** Every live actor of this process, as the charts show it. */
  awake(): Awake[] {
    for (const actors of [this.workspaces, this.keys, this.visitors]) actors.levelAll();
    return Object.values(this.#actors).flatMap(({ population }) =>
      [...population.residents()].map(({ identity, machine, version }) => ({
        actor: identity,
        state: machine.state,
        context: machine.context,
        seq: version,
      })),
    );
  }

  /**
   * A turn whose session was stored by a later version is sealed by a process of that version. It does not keep the
   * others from being sealed, and is logged once.
   */
  #leaveToLater(error: unknown): void {
    if (!(error instanceof UnreadableSnapshot)) throw error;
    if (this.#unreadable.has(error.message)) return;
    this.#unreadable.add(error.message);
    this.#log.warn(
      { err: error },
      'This version cannot read the sessions of some turns. They are left to a process of a later version.',
    );
  }

  async #sealOrphans(): Promise<void> {
    const orphans = await this.#store.turns.orphans(this.#clock.now(), limits.sweepSessionsMax);
    for (const { workspaceId, sessionId } of orphans) {
      // Activating the session seals its turn.
      await Promise.resolve(this.sessions.of(workspaceId, sessionId)).catch((error) => this.#leaveToLater(error));
    }
  }
}
