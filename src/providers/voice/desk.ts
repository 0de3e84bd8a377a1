/** The parts of voice, for code that speaks and listens on behalf of a caller. */
import type { Clock } from '../../base/clock.ts';
import type { VoiceProvider, VoiceProviders } from '../voice.ts';
import { Ear, type EarOptions } from './ear.ts';
import { EnergyDetector } from './energy.ts';
import { Ladder } from './ladder.ts';
import { Narration, type NarrationOptions } from './narration.ts';
import type { VoiceStaff } from './processes.ts';

/** Finds voice in one stream of audio. */
export interface VoiceDetector {
  chances(samples: Int16Array): Promise<Float32Array>;
  close(): void;
}

export class VoiceDesk {
  readonly providers: VoiceProviders;
  readonly staff: VoiceStaff;
  readonly ladder: Ladder;
  readonly #clock: Clock;

  constructor(providers: readonly VoiceProvider[], staff: VoiceStaff, clock: Clock) {
    this.providers = new Map(providers.map((provider) => [provider.provider, provider]));
    this.staff = staff;
    this.#clock = clock;
    this.ladder = new Ladder(staff.listeners, clock);
  }

  detector(): VoiceDetector {
    const { listeners } = this.staff;
    return listeners.available ? listeners.stream() : new EnergyDetector();
  }

  /** Listens to the person of a call, on behalf of a caller. */
  ear(caller: string, options: Omit<EarOptions, 'clock' | 'detector' | 'stretch'>): Ear {
    return new Ear({
      ...options,
      clock: this.#clock,
      detector: this.detector(),
      stretch: () => this.ladder.stretchFor(caller),
    });
  }

  /** Reads one reply aloud to the person of a call. */
  narrate(options: Omit<NarrationOptions, 'clock'>): Narration {
    return new Narration({ ...options, clock: this.#clock });
  }

  close(): void {
    this.staff.speakers.close();
    this.staff.listeners.close();
  }

  /**
   * Loads the models for listening, unless they are loaded: the voice activity detector, and the embedded recogniser if
   * that transcribes.
   */
  warm({ provider }: VoiceProvider): void {
    const { listeners } = this.staff;
    if (listeners.available) listeners.warm(provider === 'embedded').catch(() => {});
  }
}
