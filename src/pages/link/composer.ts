/**
 * The visitor's text field: Enter sends, with Shift it begins a line; a text written during a reply waits for its end.
 */
import type { Words } from '../words.ts';
import { button, element, filled } from '../dom.ts';
import { isSending } from '../enter.ts';

export interface ComposerOptions {
  readonly words: Words;
  /** Code points that a message has at most. */
  readonly charactersMax: number;
  /** Returns whether the text was taken. */
  send(text: string): boolean;
  stop(): void;
}

export class Composer {
  readonly element: HTMLFormElement;
  readonly input: HTMLTextAreaElement;
  /** The place next to the text, for further buttons. */
  readonly beside: HTMLElement;
  readonly #options: ComposerOptions;
  readonly #send: HTMLButtonElement;
  readonly #stop: HTMLButtonElement;
  readonly #fault: HTMLElement;
  #busy = false;

  constructor(options: ComposerOptions) {
    const { words, stop } = options;
    this.#options = options;
    this.#fault = element('p', { id: 'fault-message', className: 'fault', role: 'alert' });
    this.input = element('textarea', {
      id: 'message',
      rows: 1,
      dir: 'auto',
      placeholder: words.message,
      'aria-label': words.message,
      'aria-describedby': this.#fault.id,
      enterKeyHint: 'send',
      autocomplete: 'off',
    });
    this.#send = element('button', { id: 'send', className: 'primary' }, words.send);
    this.#stop = button(words.stop, stop);
    this.#stop.id = 'stop';
    this.beside = element('div', { className: 'beside' }, this.#stop, this.#send);
    this.element = element(
      'form',
      { id: 'talk' },
      element('div', { className: 'box' }, this.input, this.beside),
      this.#fault,
    );
    this.element.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.input.addEventListener('input', () => this.#noteInput());
    this.input.addEventListener('keydown', (event) => {
      if (!isSending(event)) return;
      event.preventDefault();
      this.#submit();
    });
    this.busy = false;
  }

  set busy(busy: boolean) {
    // A button that goes takes the focus along.
    const focused = this.beside.contains(document.activeElement);
    this.#busy = busy;
    this.#send.hidden = busy;
    this.#stop.hidden = !busy;
    if (focused && (document.activeElement === document.body || document.activeElement === null)) this.input.focus();
  }

  get text(): string {
    return this.input.value;
  }

  set text(text: string) {
    this.input.value = text;
    this.#noteInput();
  }

  #submit(): void {
    const text = this.input.value.trim();
    if (this.#busy || text === '' || this.#tooMany() > 0) return this.input.focus();
    if (this.#options.send(text)) this.text = '';
  }

  #tooMany(): number {
    const { charactersMax } = this.#options;
    const { value } = this.input;
    return value.length <= charactersMax ? 0 : [...value.trim()].length - charactersMax;
  }

  #noteInput(): void {
    const { input } = this;
    const many = this.#tooMany();
    this.#fault.textContent = many > 0 ? filled(this.#options.words.tooLong, { count: many }) : '';
    if (many > 0) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
    // The height follows the text, up to the maximum of the style.
    input.style.height = 'auto';
    input.style.height = `${input.scrollHeight}px`;
  }
}
