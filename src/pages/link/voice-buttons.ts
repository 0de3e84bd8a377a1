/** The buttons for voice. The code for speaking and listening is loaded when one of them is first used. */
import { RateLimitError } from '../../client/failure.ts';
import type { Words } from '../words.ts';
import type { Chat, Trouble } from './chat.ts';
import { now } from './clock.ts';
import type { Composer } from './composer.ts';
import { iconButton } from './dom.ts';
import type { Fields } from './fields.ts';

const microphone = 'M8 1.5a2 2 0 0 1 2 2V8a2 2 0 0 1-4 0V3.5a2 2 0 0 1 2-2zM3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.5';
const speaker = 'M2.5 6v4h2.2L8 13V3L4.7 6zM10.5 5.8a3 3 0 0 1 0 4.4M12.4 4a5.6 5.6 0 0 1 0 8';

/** The page on which the buttons are. */
export interface VoicePage {
  readonly options: { readonly words: Words; chat(): Chat };
  readonly composer: Composer;
  readonly fields: Fields;
  changed(): void;
}

const failure = (code: string): Error => Object.assign(new Error(), { code });

export class VoiceButtons {
  trouble: Trouble | null = null;
  readonly #view: VoicePage;
  /** The address of the microphone's worklet. */
  readonly #worklet: string;
  readonly #listener: HTMLButtonElement;
  /** Stops the speaking or listening whose button is pressed. */
  #running: AbortController | null = null;

  constructor(view: VoicePage, worklet: string) {
    this.#view = view;
    this.#worklet = worklet;
    const { words } = view.options;
    this.#listener = iconButton(words.listen, microphone, () => void this.#toggle(this.#listener, words.listen, words.stopListening, (ending) => this.#listen(ending)));
    this.#listener.setAttribute('aria-pressed', 'false');
    view.composer.beside.prepend(this.#listener);
  }

  /** A button that reads a text aloud. */
  speaker(text: () => string): HTMLButtonElement {
    const { words } = this.#view.options;
    const made = iconButton(words.readAloud, speaker, () => void this.#toggle(made, words.readAloud, words.stopReading, (ending) => this.#speak(text(), ending)), 'action');
    made.setAttribute('aria-pressed', 'false');
    return made;
  }

  quiet(): void {
    this.trouble = null;
    this.#running?.abort();
  }

  async #toggle(button: HTMLButtonElement, idle: string, running: string, run: (ending: AbortSignal) => Promise<void>): Promise<void> {
    const wasOwn = button.getAttribute('aria-pressed') === 'true';
    this.quiet();
    if (wasOwn) return;
    const ending = (this.#running = new AbortController());
    const press = (pressed: boolean): void => {
      button.setAttribute('aria-pressed', String(pressed));
      button.title = pressed ? running : idle;
      button.setAttribute('aria-label', button.title);
    };
    press(true);
    try {
      await run(ending.signal);
    } catch (error) {
      if (!ending.signal.aborted) this.#fail(error as Error);
    }
    press(false);
    this.#view.changed();
  }

  async #listen(ending: AbortSignal): Promise<void> {
    const view = this.#view;
    const chat = view.options.chat();
    if (!chat.scene.begun && !view.fields.complete()) return;
    // The browser asks for the microphone within the click, and before anything is spent.
    const { transcribe, openMicrophone } = await import('./voice.ts');
    const source = await openMicrophone(this.#worklet).catch(() => {
      throw failure('no_microphone');
    });
    const before = view.composer.text === '' ? '' : `${view.composer.text.trimEnd()} `;
    try {
      // The button was pressed again before the browser had an answer.
      if (ending.aborted) return;
      await transcribe(chat.parley, await chat.session(), source, ending, (heard) => (view.composer.text = before + heard));
    } finally {
      source.stop();
    }
    view.composer.input.focus();
  }

  async #speak(text: string, ending: AbortSignal): Promise<void> {
    const chat = this.#view.options.chat();
    if (!chat.scene.begun && !this.#view.fields.complete()) return;
    const { playSpeech, openLoudspeaker } = await import('./voice.ts');
    const loudspeaker = openLoudspeaker();
    try {
      await playSpeech(chat.parley, await chat.session(), text, loudspeaker, ending);
    } finally {
      void loudspeaker.close();
    }
  }

  #fail(error: Error): void {
    if (error instanceof RateLimitError) this.trouble = { kind: 'limited', at: now() + error.retryAfterSeconds * 1000 };
    else if ('code' in error && typeof error.code === 'string') this.trouble = { kind: 'failed', error };
    // The code for voice did not load, or the connection was cut.
    else this.trouble = { kind: 'failed', error: failure('voice_unavailable') };
  }
}
