/**
 * Usage that a call adds to its workspace: the characters of its replies, next to the seconds of audio that its socket
 * counts. Characters of a reply count once it is certain that it stays: a withdrawn reply leaves no trace (contract 18).
 */
import type { AssistantActor } from '../../host/assistants.ts';
import type { AudioIntake } from '../audio-intake.ts';
import type { Principal } from '../principal.ts';
import { keyOf } from '../access-checks.ts';
import type { Services } from '../services.ts';
import { countVoice } from '../voice-usage.ts';

export interface CallUsageOptions {
  readonly principal: Principal;
  readonly assistant: AssistantActor;
  readonly services: Services;
  readonly intake: Pick<AudioIntake, 'leaveUncounted'>;
}

export class CallUsage {
  readonly #options: CallUsageOptions;
  /** Characters that are not stored yet. */
  #characters = 0;
  /** Whether the workspace was removed. */
  #isRemoved = false;

  constructor(options: CallUsageOptions) {
    this.#options = options;
  }

  /** Adds the characters of a reply that stays. */
  add(characters: number): void {
    if (!this.#isRemoved) this.#characters += characters;
  }

  /** Stores the characters. */
  count(): void {
    const { principal, assistant, services } = this.#options;
    const speechCharacters = this.#characters;
    this.#characters = 0;
    if (speechCharacters > 0 && principal.channel !== 'console')
      void countVoice(assistant.record, keyOf(principal), { speechCharacters }, services);
  }

  /** Drops all usage: its workspace was removed. */
  leaveUncounted(): void {
    this.#isRemoved = true;
    this.#characters = 0;
    this.#options.intake.leaveUncounted();
  }
}
