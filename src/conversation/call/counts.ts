/** Counts what a call adds to its workspace's usage: the characters that it has spoken, beside the seconds of audio that its socket counts (contract 18). */
import type { AssistantActor } from '../../host/assistants.ts';
import type { AudioIntake } from '../audio-intake.ts';
import type { Party } from '../party.ts';
import { keyOf } from '../reach.ts';
import type { Services } from '../services.ts';
import { countVoice } from '../voice-usage.ts';

export interface CountsOptions {
  readonly party: Party;
  readonly assistant: AssistantActor;
  readonly services: Services;
  readonly intake: Pick<AudioIntake, 'leaveUncounted'>;
}

export class Counts {
  readonly #options: CountsOptions;
  #characters = 0;

  constructor(options: CountsOptions) {
    this.#options = options;
  }

  /** The synthesis of a sentence has begun. */
  readonly begun = (characters: number): void => void (this.#characters += characters);

  count(): void {
    const { party, assistant, services } = this.#options;
    const speechCharacters = this.#characters;
    this.#characters = 0;
    if (speechCharacters > 0 && party.channel !== 'console') void countVoice(assistant.record, keyOf(party), { speechCharacters }, services);
  }

  /** The workspace was removed: there is no usage left to count in. */
  leaveUncounted(): void {
    this.#characters = 0;
    this.#options.intake.leaveUncounted();
  }
}
