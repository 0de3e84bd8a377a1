/** A worker, as the supervisor sees it. */
import type { Worker } from 'node:cluster';
import type { Clock, Timer } from '../../base/clock.ts';
import { signalChild } from '../../base/signals.ts';
import type { FromSupervisor } from './messages.ts';

/** Milliseconds for a worker to drain and end once it is requested to; then it is killed. */
const workerEndMs = 60_000;

/** Exit code or signal of an ended worker: one of the two is null. */
export interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class SupervisedWorker {
  readonly worker: Worker;
  /** Milliseconds that its successor waits if it dies. */
  readonly restartMs: number;
  /** Resolves with true once the worker listens, or with false if it ends before. */
  readonly listening: Promise<boolean>;
  readonly ended: Promise<WorkerEnd>;
  listened = false;
  /** True once the worker was requested to end. */
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
      // A worker that the system could not start ends here; for any other, `exit` follows.
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

  send(message: FromSupervisor): void {
    if (this.worker.isConnected()) this.worker.send(message, () => {});
  }

  /**
   * Sends the worker the message to end. If it does not end in time, it is killed, so that it cannot block the rest.
   */
  leave(message: FromSupervisor): void {
    this.leaving = true;
    this.#deadline ??= this.#clock.after(workerEndMs, () => this.kill('SIGKILL'));
    this.send(message);
  }

  kill(signal: NodeJS.Signals): void {
    this.leaving = true;
    signalChild(this.worker.process, signal);
  }
}
