/** A worker's end of the line to its supervisor. */
import cluster from 'node:cluster';
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { Samples } from '../metrics.ts';
import type { FromSupervisor, FromWorker } from './messages.ts';

export interface Orders {
  /** To end in order. A supervisor that is gone asks for it as well. */
  drain(): void;
  /** To let nobody new in, and to end in order a little later. */
  retire(): void;
  measure(): Promise<Samples>;
}

export class SupervisorLine {
  /** Counts the workers that a supervisor has started, from 1. */
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

  /** The port to listen on; `again` when the one told before proved taken. */
  port(again: boolean): Promise<number> {
    return new Promise((resolve) => {
      this.#portTold = resolve;
      this.#tell({ type: 'port.wanted', again });
    });
  }

  /** Says that it listens, and takes orders from now on. */
  listening(orders: Orders): void {
    this.#orders = orders;
    cluster.worker!.on('disconnect', () => {
      // Node would end the process at once: but its turns are to finish.
      cluster.worker!.exitedAfterDisconnect = true;
      orders.drain();
    });
    this.#tell({ type: 'listening' });
  }

  /** The metrics of all workers as text; null when the supervisor does not answer. */
  metrics(): Promise<string | null> {
    const request = ++this.#requests;
    return new Promise((resolve) => {
      const answer = (text: string | null): void => {
        this.#scrapes.get(request)?.timer.cancel();
        this.#scrapes.delete(request);
        resolve(text);
      };
      this.#scrapes.set(request, { timer: this.#clock.after(2 * limits.workerMeasureMs, () => answer(null)), answer });
      this.#tell({ type: 'metrics.wanted', request });
    });
  }

  /** Leaves its counts with the supervisor; resolves when they are on their way. */
  async leave(): Promise<void> {
    if (this.#orders !== null) await this.#tell({ type: 'measured', request: null, samples: await this.#orders.measure() });
  }

  #hear(message: FromSupervisor): void {
    if (message.type === 'port') this.#portTold?.(message.port);
    else if (message.type === 'drain') this.#orders?.drain();
    else if (message.type === 'retire') this.#orders?.retire();
    else if (message.type === 'measure') void this.#measure(message.request);
    else if (message.type === 'metrics') this.#scrapes.get(message.request)?.answer(message.text);
  }

  async #measure(request: number): Promise<void> {
    if (this.#orders !== null) await this.#tell({ type: 'measured', request, samples: await this.#orders.measure() });
  }

  /** A supervisor that is gone hears nothing, which is no failure: its worker is about to end. */
  #tell(message: FromWorker): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send!(message, undefined, undefined, () => resolve());
      else resolve();
    });
  }
}
