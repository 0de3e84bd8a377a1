/**
 * Counts what a call adds to its workspace's usage: the characters of its replies, beside the seconds of audio that its
 * socket counts. A reply that is withdrawn leaves no trace there, so the characters of each are counted once it is
 * certain that it stays (contract 18).
 */
import type { AssistantActor } from '../../host/assistants.ts';
import type { AudioIntake } from '../audio-intake.ts';
import type { Principal } from '../principal.ts';
import { keyOf } from '../access-checks.ts';
import type { Services } from '../services.ts';
import { countVoice } from '../voice-usage.ts';

interface Spoken {
  /** Characters of begun sentences, not counted yet. */
  characters: number;
}

export interface CountsOptions {
  readonly principal: Principal;
  readonly assistant: AssistantActor;
  readonly services: Services;
  readonly intake: Pick<AudioIntake, 'leaveUncounted'>;
}

export class Counts {
  readonly #options: CountsOptions;
  #characters = 0;
  #left = false;

  constructor(options: CountsOptions) {
    this.#options = options;
  }

  /** The reply stays: takes the characters of its sentences. */
  readonly stays = (reply: Spoken): void => {
    if (!this.#left) this.#characters += reply.characters;
    reply.characters = 0;
  };

  count(): void {
    const { principal, assistant, services } = this.#options;
    const speechCharacters = this.#characters;
    this.#characters = 0;
    if (speechCharacters > 0 && principal.channel !== 'console')
      void countVoice(assistant.record, keyOf(principal), { speechCharacters }, services);
  }

  /** The workspace was removed: there is no usage left to count in. */
  leaveUncounted(): void {
    this.#left = true;
    this.#characters = 0;
    this.#options.intake.leaveUncounted();
  }
}
