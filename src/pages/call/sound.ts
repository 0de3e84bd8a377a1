/** A soft sound while a reply is thought of for long: silence would sound like a lost call, and words would not be the assistant's. */
import { realClock } from '../../client/clock.ts';

/** Milliseconds of thinking before the first sound, and between two. */
const [firstMs, againMs] = [1_500, 2_500];

export class ThinkingSound {
  readonly #context: AudioContext;
  #cancel: (() => void) | null = null;

  constructor(context: AudioContext) {
    this.#context = context;
  }

  set thinks(thinks: boolean) {
    this.stop();
    // A person who wants less of what moves by itself wants less of what sounds by itself.
    if (thinks && !matchMedia('(prefers-reduced-motion: reduce)').matches) this.#cancel = realClock.after(firstMs, () => this.#sound());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  #sound(): void {
    const context = this.#context;
    const at = context.currentTime;
    const volume = new GainNode(context, { gain: 0 });
    volume.gain.linearRampToValueAtTime(0.025, at + 0.06);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.5);
    const tone = new OscillatorNode(context, { frequency: 392 });
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + 0.5);
    this.#cancel = realClock.after(againMs, () => this.#sound());
  }
}
