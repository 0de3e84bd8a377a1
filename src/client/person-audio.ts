/** Sends the person's audio of a call, on one socket after the other, and counts what was sent. */
import type { CallSettings } from './call-messages.ts';
import type { Clock } from './clock.ts';
import type { Socket } from './socket.ts';

/** Milliseconds of audio that wait for a socket. */
const keptMs = 2_000;
/** Audio that waits in a socket that does not take it is worth nothing later. */
const bufferedBytesMax = 65_536;

export class PersonAudio {
  readonly #settings: CallSettings;
  readonly #clock: Clock;
  /** Audio that no socket has taken yet, the latest `keptMs` of it. */
  #kept: Uint8Array[] = [];
  /** Bytes sent on the present socket, and the time of the last ones. */
  #sentBytes = 0;
  #sentAt = 0;

  constructor(settings: CallSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Sends audio, which waits if there is no socket. */
  send(audio: Uint8Array, socket: Socket | null): void {
    if (socket !== null) return this.#write(audio, socket);
    this.#kept.push(audio);
    while (this.#kept.length > 1 && this.#msOf(this.#kept.reduce((sum, { length }) => sum + length, 0)) > keptMs)
      this.#kept.shift();
  }

  /** Takes a socket that is open: the audio that waited goes first. */
  open(socket: Socket): void {
    this.#sentBytes = 0;
    for (const audio of this.#kept.splice(0)) this.#write(audio, socket);
  }

  /** The time at which the person's audio was so far. */
  timeOf(audioMs: number): number {
    return this.#sentAt - Math.max(0, this.#msOf(this.#sentBytes) - audioMs);
  }

  #write(audio: Uint8Array, socket: Socket): void {
    if (socket.bufferedAmount > bufferedBytesMax) return;
    socket.send(audio);
    this.#sentBytes += audio.length;
    this.#sentAt = this.#clock.now();
  }

  /**
   * Milliseconds of a number of bytes of the person's audio; for opus, whose packets have no fixed length, 20 ms for
   * 160 bytes.
   */
  #msOf(bytes: number): number {
    const { encoding = 'pcm_s16le', sample_rate = 16_000 } = this.#settings;
    return encoding === 'opus' ? bytes / 8 : (bytes * 1000) / (sample_rate * (encoding === 'pcm_s16le' ? 2 : 1));
  }
}
