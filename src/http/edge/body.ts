import type { Clock, Timer } from '../../base/clock.ts';
import type { Body, EdgeBounds } from '../../base/edge.ts';

/** Milliseconds of waiting for more of a body: less than half of what uWebSockets.js itself allows. */
const bodyPauseMs = 4_000;
/** Milliseconds for which the rest of a refused body is read before the connection is closed. */
const bodyLingerMs = 2_000;

const released: Body = { kind: 'bytes', bytes: new Uint8Array() };
const gone: Body = { kind: 'gone' };
const nothing = new Uint8Array(0);
const none: Uint8Array[] = [];
const noWait = (): void => {};

/** Collects one request's body within its bounds, whichever engine the pieces come from. */
export class BodyReader {
  #bounds: EdgeBounds;
  readonly #bytesMax: number;
  #clock: Clock;
  #onWait: () => void;
  #pieces: Uint8Array[] = none;
  #size = 0;
  #overflown: boolean;
  #outcome: Body | null = null;
  #promise: Promise<Body> | null = null;
  #resolve: ((body: Body) => void) | null = null;
  #timer: Timer | null = null;

  /**
   * `declared`: the length that the head announces, null for a chunked body; `onWait`: called every few seconds while
   * the body is awaited.
   */
  constructor(bounds: EdgeBounds, clock: Clock, path: string, declared: number | null, onWait: () => void = () => {}) {
    this.#bounds = bounds;
    this.#bytesMax = bounds.bodyBytesOf?.(path) ?? bounds.bodyBytesMax;
    this.#clock = clock;
    this.#onWait = onWait;
    this.#overflown = declared !== null && declared > this.#bytesMax;
    if (declared === 0) this.finish();
  }

  /** Whether the rest of the body is not awaited, so that the answer must close the connection. */
  get closesConnection(): boolean {
    return this.#outcome?.kind === 'too_large' || this.#outcome?.kind === 'timeout';
  }

  /** Whether the body is complete, or its rest does not matter any more. */
  get settled(): boolean {
    return this.#outcome !== null;
  }

  /** Whether the next piece would be kept. */
  get collects(): boolean {
    return this.#outcome === null && !this.#overflown;
  }

  /** Takes the next piece. The reader keeps it without copying. */
  take(piece: Uint8Array): void {
    if (!this.collects) return;
    this.#size += piece.length;
    if (this.#size <= this.#bytesMax) {
      // Mostly the only one: an empty array that grows reserves room for seventeen.
      if (this.#pieces.length === 0) this.#pieces = [piece];
      else this.#pieces.push(piece);
      return;
    }
    this.#overflown = true;
    this.#pieces = none;
    if (this.#promise !== null) this.#linger();
  }

  /** Called after the last piece. */
  finish(): void {
    if (this.#outcome !== null) return;
    if (this.#overflown) this.#settle({ kind: 'too_large' });
    else this.#settle({ kind: 'bytes', bytes: this.#joined() });
  }

  /** Drops the bytes; the caller will not read them again. */
  release(): void {
    if (this.#outcome?.kind !== 'bytes') return;
    this.#outcome = released;
    this.#promise = null;
  }

  /**
   * Ends the reading: the client has gone, or the request is answered. A body that was read and not used is dropped.
   */
  abandon(): void {
    this.#settle(gone);
    if (this.#outcome?.kind !== 'bytes') return;
    this.#outcome = gone;
    this.#promise = null;
  }

  read(): Promise<Body> {
    return (this.#promise ??= new Promise((resolve) => {
      if (this.#outcome !== null) return resolve(this.#outcome);
      this.#resolve = resolve;
      if (this.#overflown) this.#linger();
      else this.#wait(this.#bounds.bodyMsMax);
    }));
  }

  #wait(leftMs: number): void {
    const pauseMs = Math.min(leftMs, bodyPauseMs);
    this.#timer = this.#clock.after(pauseMs, () => {
      if (leftMs <= pauseMs) return this.#settle({ kind: 'timeout' });
      this.#onWait();
      this.#wait(leftMs - pauseMs);
    });
  }

  /**
   * If a connection closes while its client still sends, the reset that follows destroys the answer. So the rest of a
   * body that is too large is received and dropped for a short while first.
   */
  #linger(): void {
    this.#timer?.cancel();
    const delayMs = Math.min(bodyLingerMs, this.#bounds.bodyMsMax);
    this.#timer = this.#clock.after(delayMs, () => this.#settle({ kind: 'too_large' }));
  }

  #settle(body: Body): void {
    if (this.#outcome !== null) return;
    this.#outcome = body;
    this.#pieces = none;
    this.#onWait = noWait;
    this.#timer?.cancel();
    this.#resolve?.(body);
    this.#resolve = null;
  }

  #joined(): Uint8Array {
    if (this.#pieces.length === 0) return nothing;
    if (this.#pieces.length === 1) return this.#pieces[0]!;
    return Buffer.concat(this.#pieces, this.#size);
  }
}
