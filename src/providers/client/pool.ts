/** The connections to every origin. Free ones are kept for a while, and the one used last is reused first. */
import type { Clock, Timer } from '../../base/clock.ts';
import { ProviderConnection } from './connection.ts';
import type { ConnectionOwner } from './connection.ts';
import type { Dialer } from './dial.ts';
import type { Target } from './target.ts';

/** Milliseconds for which a connection without a request is kept: half of what load balancers usually allow. */
export const providerKeptMsMax = 30_000;
/** Connections without a request that are kept for one origin. */
export const providerKeptMax = 256;
/** Connections without a request that are kept for all origins. */
export const providerKeptTotalMax = 1024;

export class Pool implements ConnectionOwner {
  readonly #clock: Clock;
  readonly #dialer: Dialer;
  /** Free connections by origin, the one used last at the end. */
  readonly #idle = new Map<string, ProviderConnection[]>();
  #keptCount = 0;
  readonly #open = new Set<ProviderConnection>();
  #timer: Timer | null = null;
  #timerDue = Infinity;
  #closed = false;
  #whenEmpty: (() => void)[] = [];

  constructor(clock: Clock, dialer: Dialer) {
    this.#clock = clock;
    this.#dialer = dialer;
  }

  /** A free connection; a new one if `fresh` is true or none is kept. Null once the pool is closed. */
  take(target: Target, fresh: boolean): ProviderConnection | null {
    if (this.#closed) return null;
    const idle = fresh ? null : this.#takeIdle(target.origin);
    if (idle !== null) return idle;
    const connection = new ProviderConnection(target, this.#dialer, this);
    this.#open.add(connection);
    return connection;
  }

  keep(connection: ProviderConnection, keptMs: number): boolean {
    const connections = this.#idle.get(connection.origin) ?? [];
    const full = connections.length >= providerKeptMax || this.#keptCount >= providerKeptTotalMax;
    if (this.#closed || full || keptMs <= 0 || !connection.usable) return false;
    connection.keptUntil = this.#clock.monotonic() + Math.min(keptMs, providerKeptMsMax);
    connections.push(connection);
    this.#idle.set(connection.origin, connections);
    this.#keptCount++;
    this.#wait(connection.keptUntil);
    return true;
  }

  drop(connection: ProviderConnection): void {
    const connections = this.#idle.get(connection.origin);
    const index = connections?.indexOf(connection) ?? -1;
    if (connections === undefined || index < 0) return;
    connections.splice(index, 1);
    this.#forget(connection.origin, connections);
  }

  closed(connection: ProviderConnection): void {
    this.#open.delete(connection);
    if (this.#open.size === 0) for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** Closes every connection, including those still connecting; resolves when their sockets are closed. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const connection of [...this.#open]) connection.fail('connect');
    if (this.#open.size > 0) await new Promise<void>((resolve) => this.#whenEmpty.push(resolve));
  }

  #takeIdle(origin: string): ProviderConnection | null {
    const connections = this.#idle.get(origin);
    while (connections !== undefined) {
      const connection = connections.pop();
      if (connection === undefined) return null;
      this.#forget(origin, connections);
      if (connection.usable && connection.keptUntil > this.#clock.monotonic()) return connection;
      connection.destroy();
    }
    return null;
  }

  #forget(origin: string, connections: ProviderConnection[]): void {
    this.#keptCount--;
    if (connections.length === 0) this.#idle.delete(origin);
  }

  #wait(due: number): void {
    if (due >= this.#timerDue) return;
    this.#timer?.cancel();
    this.#timerDue = due;
    this.#timer = this.#clock.after(due - this.#clock.monotonic(), () => this.#sweep());
  }

  #sweep(): void {
    this.#timerDue = Infinity;
    const now = this.#clock.monotonic();
    let next = Infinity;
    for (const connection of [...this.#idle.values()].flat()) {
      if (connection.keptUntil <= now) connection.destroy();
      else next = Math.min(next, connection.keptUntil);
    }
    if (next < Infinity) this.#wait(next);
  }
}
