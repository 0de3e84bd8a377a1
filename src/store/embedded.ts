/** A store used by one process: the verbs, over an ordered key-value engine. */
import type {
  AppendOutput, Basis, BeginTurn, BudgetName, CreateSession, Fence, FinishTurn, Notice, PageRequest, Session, SessionFilter, StopRequest, Store, TakeLimits, TurnPlace,
  UsageQuery, WithdrawTurn,
} from '../store.ts';
import { StoreUnavailable } from '../store.ts';
import { importUnfinished } from './dump.ts';
import type { DumpProgress } from './dump.ts';
import { Budgets } from './embedded/budgets.ts';
import { EmbeddedCatalog } from './embedded/catalog.ts';
import { Flights } from './embedded/flights.ts';
import * as keys from './embedded/keys.ts';
import { Limits } from './embedded/limits.ts';
import { Memories } from './embedded/memories.ts';
import { Notices } from './embedded/notices.ts';
import { Sessions } from './embedded/sessions.ts';
import { Sweep } from './embedded/sweep.ts';
import { Transcript } from './embedded/transcript.ts';
import { Turns } from './embedded/turns.ts';
import { UsageBook } from './embedded/usage.ts';
import type { Engine } from './engine.ts';
import { Ledger } from './ledger.ts';

export class EmbeddedStore implements Store {
  readonly name: string;
  readonly leaseMs = null;
  readonly catalog: EmbeddedCatalog;
  readonly #ledger: Ledger;
  readonly #flights: Flights;
  readonly #sessions: Sessions;
  readonly #turns: Turns;
  readonly #transcript: Transcript;
  readonly #memories: Memories;
  readonly #budgets: Budgets;
  readonly #limits: Limits;
  readonly #usage: UsageBook;
  readonly #sweep: Sweep;
  readonly #notices = new Notices();

  constructor(engine: Engine) {
    this.name = engine.name;
    this.#ledger = new Ledger(engine);
    this.#flights = new Flights(this.#ledger);
    this.#memories = new Memories(this.#ledger);
    this.#usage = new UsageBook(this.#ledger);
    this.#sessions = new Sessions(this.#ledger, this.#memories, this.#usage);
    this.#turns = new Turns(this.#ledger, this.#flights, this.#memories, this.#usage, this.#notices);
    this.#transcript = new Transcript(this.#ledger);
    this.#budgets = new Budgets(this.#ledger);
    this.#limits = new Limits(this.#ledger);
    this.#sweep = new Sweep(this.#ledger);
    this.catalog = new EmbeddedCatalog(this.#ledger, this.#notices, (workspaceId, keyId) => {
      this.#budgets.forget(workspaceId, keyId);
      return keyId === null ? this.#flights.forget(workspaceId) : [];
    });
  }

  async open(_nowMs: number): Promise<void> {
    await this.#ledger.open();
    try {
      if (this.#ledger.committed<DumpProgress>(keys.importing)?.done === false) throw new StoreUnavailable(importUnfinished);
      await this.#flights.voidLeases();
      await this.catalog.resumeRemovals();
    } catch (error) {
      await this.#ledger.close();
      throw error;
    }
  }

  close(): Promise<void> {
    this.#ledger.wake();
    return this.#ledger.close();
  }

  /** Writes a row, because a store that can only be read cannot do its work; and checks rows that are to be written later. */
  async ping(): Promise<void> {
    await this.#ledger.step((draft) => draft.put('ping', null));
    await this.#ledger.sound();
  }

  createSession(step: CreateSession) {
    return this.#sessions.create(step);
  }

  session(workspaceId: string, sessionId: string) {
    return this.#sessions.read(workspaceId, sessionId);
  }

  /** Does nothing: an embedded store never reads what is not acknowledged yet. */
  async confirm(_workspaceId: string): Promise<void> {}

  sessions(workspaceId: string, filter: SessionFilter, page: PageRequest) {
    return this.#sessions.list(workspaceId, filter, page);
  }

  saveSession(session: Session, basis: Basis) {
    return this.#sessions.save(session, basis);
  }

  beginTurn(step: BeginTurn) {
    return this.#turns.begin(step);
  }

  appendOutput(step: AppendOutput) {
    return this.#turns.append(step);
  }

  renewTurn(place: TurnPlace, fence: Fence, leaseUntilMs: number, nowMs: number) {
    return this.#turns.renew(place, fence, leaseUntilMs, nowMs);
  }

  requestStop(place: TurnPlace, reason: StopRequest, leaseUntilMs: number, nowMs: number) {
    return this.#turns.requestStop(place, reason, leaseUntilMs, nowMs);
  }

  finishTurn(step: FinishTurn) {
    return this.#turns.finish(step);
  }

  withdrawTurn(step: WithdrawTurn) {
    return this.#turns.withdraw(step);
  }

  claimTurn(place: TurnPlace) {
    return this.#turns.claim(place);
  }

  takeOverTurn(place: TurnPlace, owner: string, leaseUntilMs: number, nowMs: number) {
    return this.#turns.seize(place, owner, leaseUntilMs, nowMs);
  }

  orphans(nowMs: number, limit: number) {
    return this.#turns.orphans(nowMs, limit);
  }

  turn(workspaceId: string, sessionId: string, turnId: string) {
    return this.#turns.read({ workspaceId, sessionId, turnId });
  }

  output(place: TurnPlace) {
    return this.#transcript.output(place);
  }

  async outputAfter(place: TurnPlace, position: number) {
    const found = this.#transcript.outputAfter(place, position);
    if (found?.text === '' && found.turn.status === 'streaming') this.#notices.awaitMove(place);
    return found;
  }

  turnsInFlight(workspaceId: string) {
    return this.#turns.inFlight(workspaceId);
  }

  messages(workspaceId: string, sessionId: string, page: PageRequest) {
    return this.#transcript.page(workspaceId, sessionId, page);
  }

  recentMessages(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number) {
    return this.#transcript.recent(workspaceId, sessionId, before, charactersMax, messagesMax);
  }

  remembered(workspaceId: string, scope: string, key: string, nowMs: number) {
    return this.#memories.find(workspaceId, scope, key, nowMs);
  }

  takeBudgets(workspaceId: string, keyId: string, budgets: readonly { budget: BudgetName; ceiling: number }[], nowMs: number) {
    return this.#budgets.take(workspaceId, keyId, budgets, nowMs);
  }

  takeLimits(step: TakeLimits) {
    return this.#limits.take(step);
  }

  usage(workspaceId: string, query: UsageQuery) {
    return this.#usage.query(workspaceId, query);
  }

  async sweep(nowMs: number, limit: number): Promise<number> {
    this.#ledger.wake();
    await this.#memories.sweep(nowMs);
    return this.#sweep.sessions(nowMs, limit);
  }

  async watch(listener: (notice: Notice) => void): Promise<() => Promise<void>> {
    return this.#notices.watch(listener);
  }
}
