/**
 * The messages: the visitor's on a wash, replies as text on paper, a person's in a frame under the name, and notices in
 * the middle, with the status of each.
 */
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
  textOf(id: string): string {
    return this.#shown.find(({ message }) => message.id === id)?.said.innerText ?? '';
  }

  #make(message: ConversationMessage): Shown {
    const { words, name, language } = this.#options;
    const isReply = message.role === 'assistant';
    const said = element('div', { className: 'said', dir: isReply ? '' : 'auto' });
    const at = message.createdAt === null ? now() : message.createdAt * 1000;
    const time = element('time', { dateTime: new Date(at).toISOString() }, timeOfDay(at, language));
    const note = element('span', { className: 'note' });
    const item = element(
      'li',
      { className: message.role, tabIndex: -1 },
      ...label(message, words.you, name),
      said,
      element('div', { className: 'foot' }, note, time),
    );
    const shown: Shown = { item, said, note, reply: isReply ? new Markdown(said) : null, message };
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
              : message.stopReason === null || message.stopReason === 'taken'
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

/** The writer of a message: shown of a person, and for screen readers alone of the visitor and the assistant. */
function label({ role, by }: ConversationMessage, you: string, name: string): Node[] {
  if (role === 'notice') return [];
  if (role === 'person') return [element('div', { className: 'by' }, element('bdi', {}, by ?? ''))];
  return [element('span', { className: 'hidden' }, role === 'user' ? you : name)];
}
