/**
 * A soft sound during a long thought: silence would sound like a lost call, and words would not be the assistant's. It
 * is played under names that no message has, so that it counts for no reply, and the end of the thought cuts it.
 */
import type { Clock } from './clock.ts';
import type { Player } from './player.ts';

/** Milliseconds of thinking before the first sound, between the beginnings of two, and of each. */
const [firstMs, againMs, soundMs] = [1_500, 2_500, 500];

export class ThinkingSound {
  readonly #player: Player;
  readonly #encoding: string;
  readonly #clock: Clock;
  #cancel: (() => void) | null = null;
  #name = '';
  #sounds = 0;
  #began = -Infinity;

  constructor(player: Player, encoding: string, clock: Clock) {
    this.#player = player;
    this.#encoding = encoding;
    this.#clock = clock;
  }

  start(): void {
    this.stop();
    this.#cancel = this.#clock.after(firstMs, () => this.#sound());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    // A line that has nothing to drop need not be told to.
    if (this.#clock.now() < this.#began + soundMs) void this.#player.clear(this.#name);
    this.#began = -Infinity;
  }

  #sound(): void {
    this.#name = `thinking-${++this.#sounds}`;
    this.#began = this.#clock.now();
    this.#player.play(this.#name, softSound(this.#player.sampleRate, this.#encoding));
    this.#cancel = this.#clock.after(againMs, () => this.#sound());
  }
}

/** A tone that swells and dies away: raw audio in this encoding. */
export function softSound(sampleRate: number, encoding = 'pcm_s16le'): Uint8Array {
  const samples = Int16Array.from({ length: (sampleRate * soundMs) / 1000 }, (_, at) => {
    const seconds = at / sampleRate;
    const volume = seconds < 0.06 ? seconds / 0.06 : 0.004 ** ((seconds - 0.06) / 0.44);
    return Math.round(820 * volume * Math.sin(2 * Math.PI * 392 * seconds));
  });
  const law = laws[encoding];
  return law === undefined ? new Uint8Array(samples.buffer) : Uint8Array.from(samples, law);
}

/** The byte of a telephone's encoding for a sample (G.711). */
const laws: Readonly<Record<string, (sample: number) => number>> = {
  pcm_mulaw(sample) {
    const magnitude = Math.abs(sample) + 132;
    const segment = 24 - Math.clz32(magnitude);
    return ~((sample < 0 ? 0x80 : 0) | (segment << 4) | ((magnitude >> (segment + 3)) & 15)) & 0xff;
  },
  pcm_alaw(sample) {
    const magnitude = Math.abs(sample) >> 4;
    const segment = Math.max(0, 28 - Math.clz32(magnitude));
    return ((sample < 0 ? 0 : 0x80) | (segment << 4) | ((magnitude >> Math.max(0, segment - 1)) & 15)) ^ 0x55;
  },
};
