/**
 * Time and chance for the client, passed in so that tests decide both. Nothing else in this folder reads a clock or a
 * random number.
 */

export interface Clock {
  /** Milliseconds from an arbitrary start that never go back. */
  now(): number;
  /** Calls `run` once, `ms` milliseconds from now or a little later, never sooner. The function returned cancels it. */
  after(ms: number, run: () => void): () => void;
  /** From 0 to 1, without 1. */
  random(): number;
}

/** A timer may fire some milliseconds early, because the runtime counts from the beginning of its event loop's turn. */
const earlyMsMax = 100;

export const realClock: Clock = {
  now: () => performance.now(),
  after(ms, run) {
    const due = performance.now() + ms;
    let timer: ReturnType<typeof setTimeout>;
    const fire = (): void => {
      const left = due - performance.now();
      if (left > 0 && left < earlyMsMax) timer = setTimeout(fire, Math.ceil(left));
      else run();
    };
    timer = setTimeout(fire, Math.ceil(ms));
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
};

/** Returns `count` random bytes. */
export const drawBytes = (count: number): Uint8Array => crypto.getRandomValues(new Uint8Array(count));

/** A new `Idempotency-Key`: 128 random bits. Not `randomUUID`, which browsers have over HTTPS alone. */
export const newIdempotencyKey = (): string =>
  Array.from(drawBytes(16), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Resolves after `ms` milliseconds; rejects at once with the signal's reason when it is aborted. */
export function pause(
  clock: Clock,
  ms: number,
  signal: AbortSignal | undefined,
  wake?: (run: () => void) => () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (run: () => void) => (): void => {
      cancel();
      unwatch?.();
      signal?.removeEventListener('abort', stop);
      run();
    };
    const stop = settle(() => reject(signal!.reason));
    const done = settle(resolve);
    const cancel = clock.after(ms, done);
    const unwatch = wake?.(done);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop);
  });
}
