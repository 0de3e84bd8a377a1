/**
 * A voice activity detector without a network, for a server whose voice processes are turned off: how far a window
 * rises over the noise.
 */
import { decibels } from './speech-boundaries.ts';
import { windowSamples } from './engine/messages.ts';

/** Decibels over the noise at which speech is as likely as not, and over which the chance rises from 0 to 1. */
const [evenAbove, range] = [12, 12];
const quietest = -60;
/** Rate at which the estimate of the noise rises; it falls at once. */
const risePerWindow = 0.03;

export class EnergyDetector {
  #noise = 0;

  chances(samples: Int16Array): Promise<Float32Array> {
    const chances = new Float32Array(samples.length / windowSamples);
    for (let window = 0; window < chances.length; window++) {
      const level = decibels(samples.subarray(window * windowSamples, (window + 1) * windowSamples));
      this.#noise = Math.max(quietest, Math.min(level, this.#noise + risePerWindow));
      chances[window] = Math.min(1, Math.max(0, 0.5 + (level - this.#noise - evenAbove) / range));
    }
    return Promise.resolve(chances);
  }

  close(): void {}
}
