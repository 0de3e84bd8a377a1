/**
 * The notice above the text field: what went wrong or is asked, when the conversation continues, and what can be done.
 */
import { ParleyError } from '../../client/failure.ts';
import type { Words } from '../words.ts';
import type { Trouble } from './chat.ts';
import { comingMinute, timeOfDay } from './clock.ts';
import { button, element, filled } from '../dom.ts';

export interface NoticeActions {
  retry(): void;
  renew(): void;
}

export class Notice {
  readonly element = element('div', { id: 'notice', role: 'status' });
  readonly #words: Words;
  readonly #language: string;
  readonly #actions: NoticeActions;
  #shown = '';

  constructor(words: Words, language: string, actions: NoticeActions) {
    this.#words = words;
    this.#language = language;
    this.#actions = actions;
  }

  /** Null for nothing. */
  show(trouble: Trouble | null): void {
    const words = this.#words;
    switch (trouble?.kind) {
      case undefined:
        return this.#put('', []);
      case 'offline':
        return this.#put(words.offline, [button(words.tryAgain, this.#actions.retry)]);
      case 'waiting':
      case 'limited':
        return this.#put(
          filled(words[trouble.kind], { time: timeOfDay(comingMinute(trouble.at), this.#language) }),
          [],
        );
      case 'over':
        return this.#put(words.over, [button(words.newConversation, this.#actions.renew)]);
      case 'closed':
        return this.#put(words.closed, []);
      case 'failed':
        return this.#put(...this.#failure(trouble.error));
    }
  }

  /** Shows a text with buttons. */
  say(text: string, ...buttons: readonly HTMLButtonElement[]): void {
    this.#put(text, buttons);
  }

  #failure(error: Error): [string, Node[]] {
    const { unavailable, failed, gone, siteNotPermitted, noVoice, noMicrophone, reference } = this.#words;
    const { code = null, requestId = null, said } = error as Partial<ParleyError> & { said?: string };
    const known: Readonly<Record<string, string>> = {
      assistant_unavailable: unavailable,
      assistant_not_found: gone,
      assistant_not_permitted: siteNotPermitted,
      voice_unavailable: noVoice,
      voice_disabled: noVoice,
      no_microphone: noMicrophone,
    };
    const text = said ?? known[code ?? ''];
    // A person who asks for help can name the failed request.
    return [
      text ?? failed,
      text === undefined && requestId !== null ? [element('small', {}, filled(reference, { id: requestId }))] : [],
    ];
  }

  #put(text: string, more: readonly Node[]): void {
    const key = [text, ...more.map(({ textContent }) => textContent)].join('\n');
    // An unchanged notice is not announced again to a screen reader.
    if (key === this.#shown) return;
    this.#shown = key;
    this.element.replaceChildren(...(text === '' ? [] : [element('p', {}, text)]), ...more);
  }
}
