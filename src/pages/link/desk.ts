/**
 * The way to a person of the desk: a button that asks for one, and who answers in words. It is loaded where visitors
 * can ask for a person, and when one answers.
 */
import type { Attendance } from '../../client/types.ts';
import type { Language } from '../words.ts';
import { deskWords } from './desk-words.ts';

export interface DeskOptions {
  readonly language: Language;
  /** Functions that make the page's elements: passed in, so that they stay in the page's own file. */
  readonly dom: Pick<typeof import('../dom.ts'), 'element' | 'button' | 'filled'>;
  /** Asks for a person; resolves once the service has answered. */
  ask(): Promise<void>;
}

export class Desk {
  readonly element: HTMLElement;
  readonly #words: (typeof deskWords)[Language];
  readonly #options: DeskOptions;
  readonly #state: HTMLElement;
  readonly #button: HTMLButtonElement;
  #asking = false;

  constructor(options: DeskOptions) {
    const { language, dom } = options;
    this.#options = options;
    this.#words = deskWords[language];
    this.#state = dom.element('p', { role: 'status', className: 'empty' });
    this.#button = dom.button(this.#words.ask, () => void this.#ask());
    this.element = dom.element('div', { id: 'desk' }, this.#state, this.#button);
  }

  /** `offered`: the visitor may ask for a person now. */
  show(attendance: Attendance | null, offered: boolean): void {
    const { waiting, answering } = this.#words;
    const state = attendance?.state ?? 'assistant';
    const text =
      state === 'waiting'
        ? waiting
        : state === 'person'
          ? this.#options.dom.filled(answering, { name: attendance?.person?.name ?? '' })
          : '';
    // An unchanged text is not announced again to a screen reader.
    if (this.#state.textContent !== text) this.#state.textContent = text;
    this.#button.hidden = state !== 'assistant' || !offered;
    this.#button.disabled = this.#asking;
    this.element.hidden = this.#button.hidden && text === '';
  }

  async #ask(): Promise<void> {
    if (this.#asking) return;
    this.#asking = this.#button.disabled = true;
    await this.#options.ask();
    this.#asking = this.#button.disabled = false;
  }
}
