/** The microphone of a caller: at the pace of speech, silence, a voice without end, or what it is given to hear. */
import type { Caller } from '../api/caller.ts';

const frameMs = 20;
const frameBytes = frameMs * 32;
/** A part of the clip without a pause in it. */
const [voiceFrom, voiceBytes] = [16_000, 24_000];

export class Microphone {
  /** Whether somebody speaks, without end. */
  speaks = false;
  #heard = Buffer.alloc(0);
  readonly #timer: NodeJS.Timeout;
  #at = 0;
  #dueAt = performance.now();

  constructor(caller: Caller, clip: Buffer) {
    this.#timer = setInterval(() => {
      if (caller.socket.readyState !== 1) return this.stop();
      // A timer that is late sends what it owes.
      for (const now = performance.now(); this.#dueAt <= now; this.#dueAt += frameMs) caller.send(this.#frame(clip));
    }, frameMs);
    caller.socket.on('close', () => this.stop());
  }

  /** Sound that is heard behind what is to be heard already. */
  hear(audio: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, audio]);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #frame(clip: Buffer): Buffer {
    const frame = this.#heard.subarray(0, frameBytes);
    this.#heard = this.#heard.subarray(frame.length);
    if (frame.length === frameBytes) return frame;
    return frame.length === 0 && this.speaks ? this.#voice(clip) : Buffer.concat([frame, Buffer.alloc(frameBytes - frame.length)]);
  }

  #voice(clip: Buffer): Buffer {
    const from = voiceFrom + this.#at;
    this.#at = (this.#at + frameBytes) % voiceBytes;
    return clip.subarray(from, from + frameBytes);
  }
}
