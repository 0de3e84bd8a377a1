/** The delay of the event loop, that is how late it runs due callbacks, and how much of the time it is busy. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';

/**
 * Milliseconds between two samples of the event loop. The monitor's times contain them: an idle process measures this
 * value.
 */
const resolutionMs = 20;

/** The part of Node's own monitor that is read, in nanoseconds. */
export interface DelayMonitor {
  /** NaN before the first look. */
  readonly mean: number;
  reset(): void;
}

/**
 * The mean delay of the event loop in milliseconds. Each reader restarts the measurement and so has its own instance.
 */
export class LoopLag {
  readonly #monitor: DelayMonitor;

  constructor(monitor: DelayMonitor = startMonitor()) {
    this.#monitor = monitor;
  }

  /** Since it was last read with `restart`. */
  meanMs(restart: boolean): number {
    const { mean } = this.#monitor;
    if (restart) this.#monitor.reset();
    return Number.isFinite(mean) ? Math.max(0, mean / 1e6 - resolutionMs) : 0;
  }
}

function startMonitor(): DelayMonitor {
  const monitor = monitorEventLoopDelay({ resolution: resolutionMs });
  monitor.enable();
  return monitor;
}

/** The share of the time in which the event loop is busy. */
export class LoopShare {
  #before = performance.eventLoopUtilization();

  /** Since it was last asked, from 0 to 1. */
  share(): number {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#before);
    this.#before = now;
    return utilization;
  }
}
