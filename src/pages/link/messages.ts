/** The messages: the visitor's on a wash, replies as text on paper, with the status of each. */
import type { ConversationMessage } from '../../client/conversation.ts';
import type { Words } from '../words.ts';
import { now, timeOfDay } from './clock.ts';
import { element, filled } from '../dom.ts';
import { Markdown } from './markdown.ts';

interface Shown {
  readonly item: HTMLLIElement;
  readonly said: HTMLElement;
  readonly note: HTMLElement;
  readonly reply: Markdown | null;
  message: ConversationMessage;
}

export interface MessagesOptions {
  readonly words: Words;
  readonly language: string;
  /** The assistant's. */
  readonly name: string;
  /** Returns buttons for a whole reply, such as to read it aloud. */
  actions(said: HTMLElement, message: () => ConversationMessage): readonly HTMLButtonElement[];
}

export class Messages {
  readonly element: HTMLOListElement;
  readonly #options: MessagesOptions;
  #shown: Shown[] = [];

  constructor(options: MessagesOptions) {
    this.#options = options;
    this.element = element('ol', { id: 'messages', role: 'list', 'aria-label': options.words.conversation });
  }

  show(messages: readonly ConversationMessage[]): void {
    for (const { item } of this.#shown.splice(messages.length)) item.remove();
    messages.forEach((message, index) => {
      const before = this.#shown[index];
      if (before?.message === message) return;
      if (before !== undefined && before.message.role === message.role) this.#update(before, message);
      else {
        for (const { item } of this.#shown.splice(index)) item.remove();
        this.#shown.push(this.#make(message));
      }
    });
  }

  /** The text of a reply as it is shown. */
  textOf(index: number): string {
    return this.#shown.at(index)?.said.innerText ?? '';
  }

  #make(message: ConversationMessage): Shown {
    const { words, name, language } = this.#options;
    const isOwn = message.role === 'user';
    const said = element('div', { className: 'said', dir: isOwn ? 'auto' : '' });
    const at = message.createdAt === null ? now() : message.createdAt * 1000;
    const time = element('time', { dateTime: new Date(at).toISOString() }, timeOfDay(at, language));
    const note = element('span', { className: 'note' });
    const item = element(
      'li',
      { className: message.role, tabIndex: -1 },
      element('span', { className: 'hidden' }, isOwn ? words.you : name),
      said,
      element('div', { className: 'foot' }, note, time),
    );
    const shown: Shown = { item, said, note, reply: isOwn ? null : new Markdown(said), message };
    this.element.append(item);
    this.#update(shown, message);
    return shown;
  }

  #update(shown: Shown, message: ConversationMessage): void {
    const { words, name } = this.#options;
    const { item, said, note, reply } = shown;
    const streams = message.status === 'streaming';
    shown.message = message;
    // Not written again: a person may have selected some of it.
    if (reply === null && said.textContent !== message.content) said.textContent = message.content;
    if (reply !== null) reply.show(message.content, streams);
    item.setAttribute('aria-busy', String(streams));
    item.classList.toggle('cut', message.status === 'partial');
    note.textContent =
      message.status === 'sending'
        ? words.sending
        : streams && message.content === ''
          ? filled(words.replying, { name })
          : message.status === 'partial'
            ? message.stopReason === 'aborted'
              ? words.stopped
              : message.stopReason === null
                ? ''
                : words.cut
            : '';
    const actions = item.querySelectorAll('.action');
    if (reply === null || streams || message.content === '') actions.forEach((action) => action.remove());
    else if (actions.length === 0) {
      item.lastElementChild!.append(...this.#options.actions(said, () => shown.message));
      // A table that scrolls is scrolled by keys too.
      for (const table of said.querySelectorAll('table')) if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    }
  }
}
