/** One worker as its supervisor knows it. */
import type { Worker } from 'node:cluster';
import type { Clock, Timer } from '../clock.ts';
import { limits } from '../limits.ts';
import type { FromSupervisor } from './messages.ts';

/** How a worker ended: one of the two is null. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Member {
  readonly worker: Worker;
  /** How long its successor waits if it dies. */
  readonly restartMs: number;
  /** Resolves with whether it came to listen. */
  readonly listening: Promise<boolean>;
  readonly ended: Promise<Ended>;
  listened = false;
  /** True once it was told to end. */
  leaving = false;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #listens!: (listens: boolean) => void;
  #deadline: Timer | null = null;

  constructor(worker: Worker, clock: Clock, restartMs: number) {
    this.worker = worker;
    this.restartMs = restartMs;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
    this.listening = new Promise((resolve) => (this.#listens = resolve));
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.#deadline?.cancel();
        this.#listens(false);
        resolve({ code, signal });
      };
      worker.once('exit', end);
      // One that the system would not start ends here; of others the end itself is heard.
      worker.on('error', () => worker.process.pid === undefined && end(1, null));
    });
  }

  listens(): void {
    this.listened = true;
    this.#listens(true);
  }

  ranMs(): number {
    return this.#clock.monotonic() - this.#startedAt;
  }

  tell(message: FromSupervisor): void {
    if (this.worker.isConnected()) this.worker.send(message, () => {});
  }

  /** Tells it how to end. One that does not is killed, so that it cannot hold up the rest. */
  leave(message: FromSupervisor): void {
    this.leaving = true;
    this.#deadline ??= this.#clock.after(limits.workerEndMs, () => this.kill('SIGKILL'));
    this.tell(message);
  }

  kill(signal: NodeJS.Signals): void {
    this.leaving = true;
    this.worker.process.kill(signal);
  }
}
