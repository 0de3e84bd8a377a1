/** All that voice is made of, for those who speak and listen on behalf of a caller. */
import type { Clock } from '../clock.ts';
import type { VoiceProvider, VoiceProviders } from '../voice.ts';
import { EnergyDetector } from './energy.ts';
import { Ladder } from './ladder.ts';
import type { VoiceProcesses } from './processes.ts';

/** Finds voice in one stream of audio. */
export interface VoiceDetector {
  chances(samples: Int16Array): Promise<Float32Array>;
  close(): void;
}

export class VoiceDesk {
  readonly providers: VoiceProviders;
  readonly processes: VoiceProcesses;
  readonly ladder: Ladder;

  constructor(providers: readonly VoiceProvider[], processes: VoiceProcesses, clock: Clock) {
    this.providers = new Map(providers.map((provider) => [provider.provider, provider]));
    this.processes = processes;
    this.ladder = new Ladder(processes, clock);
  }

  detector(): VoiceDetector {
    return this.processes.available ? this.processes.stream() : new EnergyDetector();
  }

  /** Starts what listens, in case it does not run yet. */
  warm(): void {
    if (this.processes.available) this.processes.warm().catch(() => {});
  }
}
