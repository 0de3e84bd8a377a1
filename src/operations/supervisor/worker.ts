/** The worker's side of the connection to its supervisor. */
import cluster from 'node:cluster';
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Samples } from '../../metrics/metrics.ts';
import type { FromSupervisor, FromWorker } from './messages.ts';

export interface Orders {
  /** Called to drain and end; also if the supervisor has ended. */
  drain(): void;
  /** Called to accept no new connections, and to drain a little later. */
  retire(): void;
  /** Resolves with whether the worker accepts work and its store answers. */
  isReady(): Promise<boolean>;
  measure(): Promise<Samples>;
}

export class SupervisorLine {
  /** The worker's number among all that its supervisor has started, from 1. */
  readonly number: number;
  readonly #clock: Clock;
  readonly #scrapes = new Map<number, { readonly timer: Timer; readonly answer: (text: string | null) => void }>();
  #requests = 0;
  #portTold: ((port: number) => void) | null = null;
  #orders: Orders | null = null;

  constructor(clock: Clock) {
    this.number = cluster.worker!.id;
    this.#clock = clock;
    process.on('message', (message) => this.#hear(message as FromSupervisor));
  }

  /** Requests the port to listen on; `again` if the port returned before was in use. */
  port(again: boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#portTold = resolve;
      void this.#tell({ type: 'port.wanted', again });
    });
  }

  /** Reports to the supervisor that the worker listens, and accepts its orders from now on. */
  announceListening(orders: Orders): void {
    this.#orders = orders;
    cluster.worker!.on('disconnect', () => {
      // Node would end the process at once, but its turns must finish.
      cluster.worker!.exitedAfterDisconnect = true;
      orders.drain();
    });
    void this.#tell({ type: 'listening' });
  }

  /** The metrics of all workers as text; null if the supervisor does not answer. */
  askMetrics(): Promise<string | null> {
    const request = ++this.#requests;
    return new Promise((resolve) => {
      const answer = (text: string | null): void => {
        this.#scrapes.get(request)?.timer.cancel();
        this.#scrapes.delete(request);
        resolve(text);
      };
      this.#scrapes.set(request, { timer: this.#clock.after(2 * limits.workerMeasureMs, () => answer(null)), answer });
      void this.#tell({ type: 'metrics.wanted', request });
    });
  }

  /** Sends the worker's metrics to the supervisor before the worker ends; resolves when they are sent. */
  async leave(): Promise<void> {
    if (this.#orders !== null)
      await this.#tell({ type: 'measured', request: null, samples: await this.#orders.measure() });
  }

  #hear(message: FromSupervisor): void {
    if (message.type === 'port') this.#portTold?.(message.port);
    else if (message.type === 'drain') this.#orders?.drain();
    else if (message.type === 'retire') this.#orders?.retire();
    else if (message.type === 'query-readiness') void this.#reportReadiness(message.request);
    else if (message.type === 'measure') void this.#measure(message.request);
    else if (message.type === 'metrics') this.#scrapes.get(message.request)?.answer(message.text);
  }

  async #reportReadiness(request: number): Promise<void> {
    if (this.#orders !== null)
      await this.#tell({ type: 'readiness', request, ready: await this.#orders.isReady().catch(() => false) });
  }

  async #measure(request: number): Promise<void> {
    if (this.#orders === null) return;
    // The scrape waits for a missing response until its timeout, and then uses the last samples.
    const samples = await this.#orders.measure().catch(() => null);
    if (samples !== null) await this.#tell({ type: 'measured', request, samples });
  }

  /** Sends a message. A supervisor that has ended does not get it, which is no failure: this worker is about to end. */
  #tell(message: FromWorker): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send!(message, undefined, undefined, () => resolve());
      else resolve();
    });
  }
}
