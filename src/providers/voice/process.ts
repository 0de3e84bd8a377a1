/** A voice process, as the server controls it. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { Order, Report, SpeakOrder, StreamPart, TranscribeOrder } from './engine/messages.ts';
import { messageOfThrown } from '../../base/thrown.ts';

/** Milliseconds of an order before its voice process counts as hung. */
export const voiceOrderMs = 20_000;

/** The process ended before it reported. */
export type Ended = 'ended';

/** The detector's result for a part's windows, or its error. */
export type Detected = Float32Array | { readonly failed: string } | Ended;

interface WaitingPart {
  readonly part: StreamPart;
  settle(detected: Detected): void;
}

/** Path of the engine: next to this file in the sources, next to the bundle after a build. */
const entry = import.meta.url.endsWith('.ts') ? './engine/main.ts' : './voice.mjs';

export class VoiceProcess {
  readonly pid: number;
  /**
   * Whether the system started the process. Without a free descriptor or memory it does not, and `onEnded` is called in
   * this iteration of the event loop.
   */
  readonly started: boolean;
  alive: boolean;
  /** Whether the process has reported: one that ends before that is broken. */
  worked = false;
  /** Streams whose state the process has. */
  readonly streams = new Set<number>();
  readonly #clock: Clock;
  readonly #child: ChildProcess | null;
  readonly #reports = new Map<number, (report: Report | Ended) => void>();
  /** Models that have served an order and therefore are loaded. */
  readonly #loaded = new Set<string>();
  /**
   * Parts that go to the detector together after its next result: a message between processes costs the server more
   * than a frame on its socket.
   */
  #parts: WaitingPart[] = [];
  #detecting = false;
  #running: number | null = null;
  /** Milliseconds at work since `#shareFrom`, and the start of the present order. */
  #workedMs = 0;
  #workFrom = 0;
  #shareFrom: number;
  #share = 0;

  constructor(clock: Clock, onEnded: (why: string) => void, start: typeof fork = fork) {
    this.#clock = clock;
    this.#shareFrom = clock.monotonic();
    // The engine gets an empty environment, because the server's contains secrets.
    const { PATH, NODE_PATH, TMPDIR } = process.env;
    let child: ChildProcess | null = null;
    let over = false;
    const end = (why: string): void => {
      if (over) return;
      over = true;
      this.alive = false;
      for (const settle of [...this.#reports.values()]) settle('ended');
      this.#reports.clear();
      onEnded(why);
    };
    try {
      child = start(fileURLToPath(new URL(entry, import.meta.url)), [], {
        env: { PATH, NODE_PATH, TMPDIR },
        serialization: 'advanced',
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
        execArgv: entry.endsWith('.ts') ? ['--import=tsx'] : [],
      });
    } catch (error) {
      // Node throws some of the system's errors and emits others; both end the process alike.
      queueMicrotask(() => end(messageOfThrown(error)));
    }
    this.#child = child;
    this.pid = child?.pid ?? 0;
    this.started = this.alive = child?.pid !== undefined;
    child?.on('message', (report: Report) => this.#take(report));
    child?.on('error', (error) => end(error.message));
    child?.on('exit', (code, signal) => end(signal ?? `code ${code}`));
  }

  get idle(): boolean {
    return this.alive && this.#running === null;
  }

  /** Share of the time at work, over the last one to two `voiceShareMs`. */
  busyShare(): number {
    const now = this.#clock.monotonic();
    const elapsed = now - this.#shareFrom;
    if (elapsed < limits.voiceShareMs) return this.#share;
    const worked = this.#workedMs + (this.#running === null ? 0 : now - this.#workFrom);
    this.#share = Math.min(1, worked / elapsed);
    [this.#workedMs, this.#workFrom, this.#shareFrom] = [0, now, now];
    return this.#share;
  }

  async run(order: SpeakOrder | TranscribeOrder): Promise<Report | Ended> {
    this.#running = order.id;
    this.#workFrom = this.#clock.monotonic();
    const report = await this.#send(order);
    this.#workedMs += this.#clock.monotonic() - this.#workFrom;
    this.#running = null;
    return report;
  }

  /** Ends the running decoding soon, with an empty text. */
  drop(id: number): void {
    if (this.alive && this.#running === id) this.#child!.send({ do: 'drop', id } satisfies Order, () => {});
  }

  /** Sends an order. `makeId`: creates the order's id. */
  detect(makeId: () => number, part: StreamPart): Promise<Detected> {
    this.streams.add(part.stream);
    return new Promise((settle) => {
      this.#parts.push({ part, settle });
      if (!this.#detecting) void this.#detectParts(makeId);
    });
  }

  async #detectParts(makeId: () => number): Promise<void> {
    this.#detecting = true;
    while (this.#parts.length > 0) {
      const waiting = this.#parts;
      this.#parts = [];
      const report = await this.#send({ do: 'detect', id: makeId(), parts: waiting.map(({ part }) => part) });
      for (const [index, { settle }] of waiting.entries()) settle(detectedIn(report, index));
    }
    this.#detecting = false;
  }

  async warm(id: number, recogniser: boolean): Promise<void> {
    await this.#send({ do: 'warm', id, recogniser });
  }

  forget(stream: number): void {
    this.streams.delete(stream);
    if (this.alive) this.#child!.send({ do: 'forget', stream } satisfies Order, () => {});
  }

  end(): void {
    if (this.alive) this.#child!.kill('SIGKILL');
  }

  #send(order: Exclude<Order, { do: 'forget' | 'drop' }>): Promise<Report | Ended> {
    if (!this.alive) return Promise.resolve('ended');
    const model = modelOf(order);
    return new Promise((resolve) => {
      // Ends a process that hangs; its orders go to the next one. A process that still loads on a slow machine must not
      // be ended: the next one would not be faster.
      const timer: Timer = this.#clock.after(this.#loaded.has(model) ? voiceOrderMs : limits.voiceLoadMs, () =>
        this.end(),
      );
      this.#reports.set(order.id, (report) => {
        timer.cancel();
        if (report !== 'ended' && !('failed' in report)) this.#loaded.add(model);
        resolve(report);
      });
      this.#child!.send(order, (error) => error !== null && this.end());
    });
  }

  #take(report: Report): void {
    this.worked = true;
    this.#reports.get(report.id)?.(report);
    this.#reports.delete(report.id);
  }
}

/** Returns the model that an order needs loaded; a warming always loads. */
const modelOf = (order: Exclude<Order, { do: 'forget' | 'drop' }>): string =>
  order.do === 'transcribe' ? `transcribe ${order.folder ?? ''}` : order.do === 'warm' ? `warm ${order.id}` : order.do;

function detectedIn(report: Report | Ended, index: number): Detected {
  if (report === 'ended') return report;
  if (!('detected' in report)) return { failed: 'failed' in report ? report.failed : '' };
  const detected = report.detected[index]!;
  return typeof detected === 'string' ? { failed: detected } : detected;
}
