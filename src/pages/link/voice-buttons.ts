/**
 * The buttons for voice, loaded where it is on. The code for speaking and listening is loaded when one of them is first
 * used.
 */
import type { RateLimitError } from '../../client/failure.ts';
import type { Trouble } from './chat.ts';
import type { VoicePage } from './voice-page.ts';

const microphone = 'M8 1.5a2 2 0 0 1 2 2V8a2 2 0 0 1-4 0V3.5a2 2 0 0 1 2-2zM3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.5';
const telephone = 'M5 2l1.5 3L5 6.5A8 8 0 0 0 9.5 11L11 9.5l3 1.5c0 2-1 3-2.5 3A9.5 9.5 0 0 1 2 4.5C2 3 3 2 5 2z';
const speaker = 'M.8 6v4H3l3.3 3V3L3 6zM8.8 5.8a3 3 0 0 1 0 4.4M10.7 4a5.6 5.6 0 0 1 0 8';

/** Functions of the page: passed in, so that they stay in its own file. */
export interface PageFunctions {
  iconButton: typeof import('../dom.ts').iconButton;
  now(): number;
  /** Loads the code of calls. */
  calls(): Promise<typeof import('./call.ts')>;
}

export class VoiceButtons {
  trouble: Trouble | null = null;
  readonly #view: VoicePage;
  readonly #page: PageFunctions;
  /** Stops the speaking or listening whose button is pressed. */
  #running: AbortController | null = null;

  /** `worklet` is the address of the worklet for microphone and loudspeaker. */
  constructor(view: VoicePage, worklet: string, page: PageFunctions) {
    this.#view = view;
    this.#page = page;
    const { words } = view.options;
    view.composer.beside.prepend(
      this.#button(words.listen, words.stopListening, microphone, async (ending) =>
        (await import('./voice.ts')).listen(view, worklet, ending),
      ),
      this.#button(words.call, words.call, telephone, async (ending) => {
        // Browsers let a page sound that was clicked just now.
        const loudspeaker = new AudioContext({ sampleRate: 24_000 });
        return (await this.#page.calls()).callFrom(view, worklet, loudspeaker, ending);
      }),
    );
  }

  /** A button that reads a text aloud. */
  speaker(text: () => string): HTMLButtonElement {
    const { words } = this.#view.options;
    return this.#button(
      words.readAloud,
      words.stopReading,
      speaker,
      async (ending) => {
        const loudspeaker = new AudioContext();
        return (await import('./voice.ts')).speak(this.#view, text(), loudspeaker, ending);
      },
      'action',
    );
  }

  quiet(): void {
    this.trouble = null;
    this.#running?.abort();
  }

  #button(
    idle: string,
    running: string,
    picture: string,
    run: (ending: AbortSignal) => Promise<void>,
    className?: string,
  ): HTMLButtonElement {
    const made = this.#page.iconButton(idle, picture, () => void this.#toggle(made, idle, running, run), className);
    made.ariaPressed = 'false';
    return made;
  }

  async #toggle(
    button: HTMLButtonElement,
    idle: string,
    running: string,
    run: (ending: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const view = this.#view;
    const wasOwn = button.ariaPressed === 'true';
    this.quiet();
    if (wasOwn || (!view.options.chat().scene.begun && view.fields?.complete() === false)) return;
    const ending = (this.#running = new AbortController());
    const press = (pressed: boolean): void => {
      button.ariaPressed = String(pressed);
      button.title = button.ariaLabel = pressed ? running : idle;
    };
    press(true);
    try {
      await run(ending.signal);
    } catch (error) {
      if (!ending.signal.aborted) this.#fail(error as Error);
    }
    press(false);
    view.changed();
  }

  #fail(error: Error): void {
    const { retryAfterSeconds } = error as Partial<RateLimitError>;
    if (typeof retryAfterSeconds === 'number')
      this.trouble = { kind: 'limited', at: this.#page.now() + retryAfterSeconds * 1000 };
    // The code for voice did not load, or the connection was cut.
    else
      this.trouble = {
        kind: 'failed',
        error: 'code' in error || 'said' in error ? error : Object.assign(error, { code: 'voice_unavailable' }),
      };
  }
}
