/** The call bar: the mark of the call's state, one line of words, and its buttons. It knows no socket. */
import type { CallState } from '../../client/call.ts';
import { button, element, filled, iconButton } from '../dom.ts';
import { addStyle } from './style.ts';
import type { CallWords } from './words.ts';

const pictures = {
  microphone: 'M8 1.5a2 2 0 0 1 2 2V8a2 2 0 0 1-4 0V3.5a2 2 0 0 1 2-2zM3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.5',
  muted:
    'M6 6v2a2 2 0 0 0 3.2 1.6M10 7V3.5a2 2 0 0 0-3.8-.9M3.5 7.5a4.5 4.5 0 0 0 7.2 3.6M12.5 7.5a4.5 4.5 0 0 1-.4 1.8M8 12v2.5M2 2l12 12',
  keyboard: 'M1.5 4h13v8.5h-13zM4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 10h6',
  handset:
    'M1.7 9.7c3.6-3.6 9-3.6 12.6 0 .5.5.5 1.2 0 1.7l-.7.7c-.4.4-1.1.5-1.6.1l-1.4-1c-.4-.3-.5-.7-.5-1.1V8.8c-1.4-.4-2.8-.4-4.2 0v1.3c0 .4-.1.8-.5 1.1l-1.4 1c-.5.4-1.2.3-1.6-.1l-.7-.7c-.5-.5-.5-1.2 0-1.7z',
} as const;

export interface BarOptions {
  readonly words: CallWords;
  interrupt(): void;
  mute(): void;
  /** Shows or hides the text field. */
  type(on: boolean): void;
  hangUp(): void;
}

/** States in which there is something to interrupt. */
const interruptible: readonly CallState[] = ['thinking', 'held', 'speaking', 'paused'];

export class CallBar {
  readonly element: HTMLElement;
  readonly #words: CallWords;
  readonly #mark: HTMLButtonElement;
  readonly #state = element('span', {});
  readonly #left = element('span', { className: 'remaining' });
  readonly #line = element('p', { className: 'line', 'aria-hidden': 'true' });
  readonly #hint = element('div', { className: 'hint', role: 'status' });
  readonly #mute: HTMLButtonElement;
  readonly #type: HTMLButtonElement;
  #now: CallState = 'opening';
  #muted = false;
  #unheard = false;

  constructor({ words, interrupt, mute, type, hangUp }: BarOptions) {
    addStyle();
    this.#words = words;
    this.#mark = iconButton(
      words.interrupt,
      'M20 3a17 17 0 1 1-.01 0z',
      () => this.interruptible && interrupt(),
      'mark',
    );
    this.#mark.setAttribute('aria-keyshortcuts', 'Space');
    const [picture] = this.#mark.children as unknown as [SVGElement];
    picture.setAttribute('viewBox', '0 0 40 40');
    const [ring] = picture.children as unknown as [SVGElement];
    ring.setAttribute('class', 'ring');
    const core = ring.cloneNode() as SVGElement;
    core.setAttribute('class', 'core');
    picture.append(core);
    this.#mute = iconButton(words.mute, pictures.microphone, mute);
    this.#mute.setAttribute('aria-keyshortcuts', 'M');
    this.#type = iconButton(words.type, pictures.keyboard, () => this.#typing(type));
    this.#type.setAttribute('aria-expanded', 'false');
    const now = element(
      'div',
      { className: 'now' },
      element('p', { className: 'doing' }, this.#state, this.#left),
      this.#line,
    );
    const keys = element(
      'div',
      { className: 'keys' },
      this.#mute,
      this.#type,
      iconButton(words.hangUp, pictures.handset, hangUp, 'hang-up'),
    );
    this.element = element(
      'section',
      { id: 'call', tabIndex: -1, 'aria-label': words.call },
      this.#mark,
      now,
      keys,
      this.#hint,
    );
    this.muted = false;
    this.state = 'opening';
  }

  get interruptible(): boolean {
    return interruptible.includes(this.#now);
  }

  set state(state: CallState) {
    this.#now = state;
    this.#mark.dataset['state'] = state;
    this.#mark.setAttribute('aria-disabled', String(!this.interruptible));
    this.#show();
  }

  set muted(muted: boolean) {
    this.#muted = muted;
    this.#mute.setAttribute('aria-pressed', String(muted));
    this.#mute.title = `${muted ? this.#words.unmute : this.#words.mute} (M)`;
    this.#mute.querySelector('path')!.setAttribute('d', muted ? pictures.muted : pictures.microphone);
    this.#show();
  }

  /** Whether the microphone is away: no state of the service's says so. */
  set unheard(unheard: boolean) {
    this.#unheard = unheard;
    this.#show();
  }

  /** Loudness of the current speaker, from 0 to 1. */
  set level(level: number) {
    this.#mark.style.setProperty('--level', Math.min(1, level * 1.6).toFixed(2));
  }

  /** The person's words so far. */
  partial(text: string): void {
    this.#write('partial', element('bdi', {}, text));
  }

  /** The reply as it was heard; the word under way is underlined, and a cut ends in a bar. */
  heard(text: string, how: 'speaking' | 'cut' | 'whole'): void {
    // One line of it, without the marks that a message shows as lists and emphasis.
    const line = text
      .trimEnd()
      .split('\n')
      .at(-1)!
      .replace(/^[\s>#*+-]+|[*_`]/g, '');
    const at = line.lastIndexOf(' ') + 1;
    const said = how === 'speaking' ? [line.slice(0, at), element('u', {}, line.slice(at))] : [line];
    this.#write(
      'heard',
      element('bdi', {}, ...said),
      ...(how === 'cut' ? [element('b', { title: this.#words.interrupted }, ' |')] : []),
    );
  }

  /** Text that is too long for the line begins out of sight, and fades in. */
  #write(whose: 'partial' | 'heard', ...parts: readonly HTMLElement[]): void {
    const line = this.#line;
    line.replaceChildren(...parts);
    line.className = `line ${whose}`;
    line.classList.toggle('long', parts.reduce((sum, { offsetWidth }) => sum + offsetWidth, 0) > line.clientWidth);
  }

  /** Seconds that the conversation has left; null shows nothing. */
  set left(seconds: number | null) {
    this.#left.textContent = seconds === null ? '' : filled(this.#words.timeLeft, { seconds });
  }

  /**
   * Says what is wrong, with a button that mends it, or gives advice, which needs no answer. An empty text takes it
   * away.
   */
  hint(text: string, act?: { readonly label: string; readonly advice?: true; run(): void }): void {
    if (this.#hint.firstChild?.textContent === text) return;
    this.#hint.replaceChildren(
      ...(text === '' ? [] : [element('p', {}, text)]),
      ...(act === undefined ? [] : [button(act.label, act.run, act.advice ? '' : 'primary')]),
    );
  }

  #typing(type: (on: boolean) => void): void {
    const on = this.#type.getAttribute('aria-expanded') === 'false';
    this.#type.setAttribute('aria-expanded', String(on));
    type(on);
  }

  #show(): void {
    const words = this.#words;
    const quiet = this.#now === 'listening' || this.#now === 'hearing';
    this.#state.textContent =
      quiet && this.#unheard
        ? words.unheard
        : quiet && this.#muted
          ? words.muted
          : this.#now === 'closed'
            ? ''
            : words[this.#now];
  }
}
