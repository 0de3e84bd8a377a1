/** The pace of a socket's audio: a bucket of ten seconds, refilled one second a second (contract 8). */
import type { Clock } from '../clock.ts';
import { limits } from '../limits.ts';

export class AudioPace {
  readonly #clock: Clock;
  #level: number = limits.socketAudioMsMax;
  #at: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** Takes the milliseconds of audio; false if the bucket does not have them. */
  take(audioMs: number): boolean {
    const now = this.#clock.monotonic();
    this.#level = Math.min(limits.socketAudioMsMax, this.#level + now - this.#at) - audioMs;
    this.#at = now;
    return this.#level >= 0;
  }
}
