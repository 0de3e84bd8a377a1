/** Factory of the parts that speak and listen on behalf of a caller, over one set of voice processes. */
import type { Clock } from '../../base/clock.ts';
import type { VoiceProvider, VoiceProviders } from '../voice.ts';
import { TurnDetector, type TurnDetectorOptions } from './turn-detector.ts';
import { EnergyDetector } from './energy.ts';
import { LoadShedding } from './load-shedding.ts';
import { StreamingSynthesis, type StreamingSynthesisOptions } from './streaming-synthesis.ts';
import type { VoicePools } from './processes.ts';

/** Detects voice in one stream of audio. */
export interface VoiceDetector {
  chances(samples: Int16Array): Promise<Float32Array>;
  close(): void;
}

export class Voices {
  readonly providers: VoiceProviders;
  readonly pools: VoicePools;
  readonly loadShedding: LoadShedding;
  readonly #clock: Clock;

  constructor(providers: readonly VoiceProvider[], pools: VoicePools, clock: Clock) {
    this.providers = new Map(providers.map((provider) => [provider.provider, provider]));
    this.pools = pools;
    this.#clock = clock;
    this.loadShedding = new LoadShedding(pools.listeners, clock);
  }

  detector(): VoiceDetector {
    const { listeners } = this.pools;
    return listeners.available ? listeners.stream() : new EnergyDetector();
  }

  /** Opens a turn detector for the person of a call, on behalf of a caller. */
  turnDetector(caller: string, options: Omit<TurnDetectorOptions, 'clock' | 'detector' | 'stretch'>): TurnDetector {
    return new TurnDetector({
      ...options,
      clock: this.#clock,
      detector: this.detector(),
      stretch: () => this.loadShedding.stretchFor(caller),
    });
  }

  /** Begins to speak one reply of a call. */
  synthesize(options: Omit<StreamingSynthesisOptions, 'clock'>): StreamingSynthesis {
    return new StreamingSynthesis({ ...options, clock: this.#clock });
  }

  close(): void {
    this.pools.speakers.close();
    this.pools.listeners.close();
  }

  /**
   * Loads the models for listening, unless they are loaded: the voice activity detector, and the embedded recogniser if
   * it transcribes.
   */
  warm({ provider }: VoiceProvider): void {
    const { listeners } = this.pools;
    if (listeners.available) listeners.warm(provider === 'embedded').catch(() => {});
  }
}
