/**
 * The loudspeaker of a caller, which plays at the pace of speech and reports its position as the contract wants
 * (contract 18).
 */
import type { Caller } from '../api/caller.ts';

const samplesPerMs = 16;
const lookMs = 20;
const reportMs = 250;

export class Loudspeaker {
  readonly #caller: Caller;
  readonly #timer: NodeJS.Timeout;
  /** The audio of the message that came last, and how much of it was played. */
  #message = '';
  #audio = Buffer.alloc(0);
  played = 0;
  #lookedAt = performance.now();
  #reportedAt = 0;
  #isHeld = false;
  /** Called with the audio that is played, as it is. */
  onSound: (audio: Buffer) => void = () => {};

  constructor(caller: Caller) {
    this.#caller = caller;
    caller.socket.on('message', (data, binary) => {
      if (binary) this.#audio = Buffer.concat([this.#audio, data as Buffer]);
      else this.#take(JSON.parse(String(data)));
    });
    this.#timer = setInterval(() => this.#look(), lookMs);
    caller.socket.on('close', () => this.stop());
  }

  /** Samples that have come, and those played, of the last message. */
  get received(): number {
    return this.#audio.length / 2;
  }

  /** Falls silent: nothing more is played or reported. */
  stop(): void {
    clearInterval(this.#timer);
  }

  #take({ type, message_id: id }: { type: string; message_id?: string }): void {
    if (type === 'audio.start') {
      this.#message = id!;
      this.#audio = Buffer.alloc(0);
      this.played = 0;
      this.#isHeld = false;
      this.#lookedAt = performance.now();
      this.#report();
    }
    if (id !== this.#message) return;
    if (type === 'audio.pause' || type === 'audio.clear') {
      this.#isHeld = true;
      this.#report();
    }
    if (type === 'audio.resume') {
      this.#isHeld = false;
      this.#lookedAt = performance.now();
    }
  }

  #look(): void {
    const now = performance.now();
    const before = this.played;
    if (!this.#isHeld)
      this.played = Math.min(this.received, before + Math.floor((now - this.#lookedAt) * samplesPerMs));
    this.#lookedAt = now;
    if (this.played > before) this.onSound(this.#audio.subarray(before * 2, this.played * 2));
    const isOver = this.played > before && this.played === this.received;
    if (this.#message !== '' && !this.#isHeld && (isOver || now - this.#reportedAt >= reportMs)) this.#report();
  }

  #report(): void {
    this.#reportedAt = performance.now();
    if (this.#caller.socket.readyState === 1)
      this.#caller.send({ type: 'played', message_id: this.#message, samples: this.played });
  }
}
