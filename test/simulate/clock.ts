/** A process as the world outside can reach it, and its clock. */
import type { Clock, Timer } from '../../src/base/clock.ts';
import type { Scheduler } from './scheduler.ts';

/** When the runs take place. */
export const epochMs = Date.UTC(2030, 0, 1);

/**
 * The input of a process: replies, timers, requests. While it is paused everything waits, in order; once it is dead
 * nothing ever arrives.
 */
export class Gate {
  readonly #scheduler: Scheduler;
  readonly #waiting: (() => void)[] = [];
  #state: 'running' | 'paused' | 'catching up' | 'dead' = 'running';

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  get dead(): boolean {
    return this.#state === 'dead';
  }

  get running(): boolean {
    return this.#state === 'running';
  }

  enter(callback: () => void): void {
    if (this.#state === 'running') callback();
    else if (this.#state !== 'dead') this.#waiting.push(callback);
  }

  /** The answer once the process can hear it. */
  pass<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      answer.then(
        (value) => this.enter(() => resolve(value)),
        (error) => this.enter(() => reject(error)),
      );
    });
  }

  pause(): void {
    if (this.#state === 'running') this.#state = 'paused';
  }

  /** Runs the waiting callbacks one after the other, each with all that follows from it. */
  resume(): void {
    if (this.#state !== 'paused') return;
    this.#state = 'catching up';
    this.#next();
  }

  kill(): void {
    this.#state = 'dead';
    this.#waiting.length = 0;
  }

  #next(): void {
    if (this.#state !== 'catching up') return;
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#state = 'running';
      return;
    }
    next();
    this.#scheduler.after(0, () => this.#next());
  }
}

/** The wall clock of one machine: off by so much, and sometimes set anew. Durations it measures are true. */
export class SimulatedClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #gate: Gate;
  /** Milliseconds that it is ahead. */
  aheadMs: number;

  constructor(scheduler: Scheduler, gate: Gate, aheadMs: number) {
    this.#scheduler = scheduler;
    this.#gate = gate;
    this.aheadMs = aheadMs;
  }

  now(): number {
    return epochMs + this.#scheduler.now + this.aheadMs;
  }

  monotonic(): number {
    return this.#scheduler.now;
  }

  /** Late, as on the wheel, by more than its tick. */
  after(delayMs: number, callback: () => void): Timer {
    let live = true;
    this.#scheduler.after(delayMs + this.#scheduler.random.between(0, 20), () =>
      this.#gate.enter(() => live && callback()),
    );
    return { cancel: () => void (live = false) };
  }

  stop(): void {}
}
