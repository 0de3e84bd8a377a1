/**
 * The microphone of a caller: at the pace of speech, silence, a voice without end, what it is given to hear, or a room
 * with a loudspeaker in it.
 */
import type { Caller } from '../api/caller.ts';
import type { Room } from './room.ts';

const frameMs = 20;
const frameBytes = frameMs * 32;
export const frameSamples = frameBytes / 2;
/** A part of the clip without a pause in it. */
const [voiceFrom, voiceBytes] = [16_000, 24_000];

/** Sends a frame every 20 ms, until it is stopped. */
export function pacing(send: () => void): { stop(): void } {
  let dueAt = performance.now();
  const timer = setInterval(() => {
    // A timer that is late sends what it owes.
    for (const now = performance.now(); dueAt <= now; dueAt += frameMs) send();
  }, frameMs);
  return { stop: () => clearInterval(timer) };
}

export class Microphone {
  /** Whether somebody speaks, without end. */
  speaks = false;
  /** The room that it stands in. */
  room: Room | null = null;
  #heard = Buffer.alloc(0);
  readonly #pace: { stop(): void };
  #at = 0;

  constructor(caller: Caller, clip: Buffer) {
    this.#pace = pacing(() => (caller.socket.readyState === 1 ? caller.send(this.#frame(clip)) : this.stop()));
    caller.socket.on('close', () => this.stop());
  }

  /** Sound that is heard behind what is to be heard already. */
  hear(audio: Buffer): void {
    this.#heard = Buffer.concat([this.#heard, audio]);
  }

  stop(): void {
    this.#pace.stop();
  }

  #frame(clip: Buffer): Buffer {
    if (this.room !== null) return this.room.hear(frameSamples);
    const frame = this.#heard.subarray(0, frameBytes);
    this.#heard = this.#heard.subarray(frame.length);
    if (frame.length === frameBytes) return frame;
    return frame.length === 0 && this.speaks
      ? this.#voice(clip)
      : Buffer.concat([frame, Buffer.alloc(frameBytes - frame.length)]);
  }

  #voice(clip: Buffer): Buffer {
    const from = voiceFrom + this.#at;
    this.#at = (this.#at + frameBytes) % voiceBytes;
    return clip.subarray(from, from + frameBytes);
  }
}
