/** The page as a person sees it, in one language: made anew when the language changes, on the same conversation. */
import type { ConversationMessage } from '../../client/conversation.ts';
import type { Attendance, Link, PendingToolCall } from '../../client/types.ts';
import type { FrameMode } from '../messages.ts';
import type { Language, Words } from '../words.ts';
import type { Approval } from './approval.ts';
import type { Chat, VisitorFields } from './chat.ts';
import { onceAFrame, after } from './clock.ts';
import { Composer } from './composer.ts';
import { copyButton } from './copy.ts';
import type { Desk } from './desk.ts';
import { button, element, filled, iconButton } from '../dom.ts';
import type { Fields } from './fields.ts';
import { Messages } from './messages.ts';
import { Notice } from './notice.ts';
import { ratingButtons } from './rating.ts';
import { Scroller } from './scroller.ts';
import type { VoiceButtons } from './voice-buttons.ts';

export interface ViewOptions {
  readonly link: Link;
  readonly words: Words;
  readonly language: Language;
  /** The code of the form, and null where nothing is asked for first. */
  readonly form: typeof import('./fields.ts') | null;
  /** Null where voice is off. */
  readonly voice: ((view: View) => VoiceButtons) | null;
  chat(): Chat;
  /** Closes the frame. */
  close(): void;
}

/** The visitor's unsent input, kept when the language changes. */
export interface UnsentInput {
  readonly text: string;
  readonly fields: VisitorFields;
}

export class View {
  readonly element: HTMLElement;
  readonly composer: Composer;
  readonly notice: Notice;
  /** Null where nothing is asked for first. */
  readonly fields: Fields | null;
  readonly options: ViewOptions;
  readonly announcer = new Announcer();
  typed: ((text: string) => void) | null = null;
  /** Null before the first one. */
  #approval: Approval | null = null;
  /** Null before visitors can ask for a person, or one answers. */
  #desk: Desk | null = null;
  readonly #messages: Messages;
  readonly #scroller: Scroller;
  readonly #empty: HTMLElement;
  readonly #renew: HTMLButtonElement;
  readonly #close: HTMLButtonElement;
  readonly #voice: VoiceButtons | null;
  /** Something is being asked, and failures wait. */
  #asking = false;
  readonly #draw = onceAFrame(() => this.#show());

  constructor(options: ViewOptions) {
    const { link, words, language, form } = options;
    this.options = options;
    this.composer = new Composer({
      words,
      charactersMax: link.message_characters_max,
      send: (text) => this.#send(text),
      stop: () => options.chat().abort(),
    });
    this.fields =
      form &&
      new form.Fields({ fields: link.visitor_fields, language, element, done: () => this.composer.input.focus() });
    this.notice = new Notice(words, language, { retry: () => void options.chat().retry(), renew: () => this.#begin() });
    this.#voice = options.voice?.(this) ?? null;
    this.#messages = new Messages({
      words,
      language,
      name: link.name,
      actions: (said, message) => this.#actions(said, message),
    });
    this.#empty = element('p', { className: 'empty' }, words.empty);
    this.#scroller = new Scroller(
      words.conversation,
      words.latest,
      this.#empty,
      this.#messages.element,
      ...(this.fields === null ? [] : [this.fields.element]),
    );
    this.#renew = button(words.newConversation, () => this.renew());
    this.#close = iconButton(words.close, 'M3.5 3.5l9 9M12.5 3.5l-9 9', options.close);
    this.#close.hidden = true;
    const about = element(
      'div',
      { className: 'about' },
      element('h1', { id: 'name' }, element('bdi', {}, link.name)),
      ...(link.description === null ? [] : [element('p', { id: 'description' }, element('bdi', {}, link.description))]),
    );
    this.element = element(
      'div',
      { id: 'page' },
      element('header', {}, about, this.#renew, this.#close),
      element(
        'main',
        {},
        this.#scroller.element,
        element('div', { className: 'foot' }, this.#scroller.latest, this.notice.element, this.composer.element),
        this.announcer.element,
      ),
    );
  }

  changed(): void {
    // A hidden frame is not painted, and needs no update.
    this.#draw();
  }

  replied(message: ConversationMessage): void {
    this.#show();
    if (message.content !== '')
      this.announcer.say(
        message.role === 'assistant'
          ? `${this.options.link.name}: ${this.#messages.textOf(message.id) || message.content}`
          : [message.by, message.content].filter(Boolean).join(': '),
      );
    this.#draw();
  }

  /** Puts a message that was not taken back into the text field. */
  returned(text: string, field: string | null): void {
    this.composer.text = [text, this.composer.text].filter((part) => part !== '').join('\n');
    this.#show();
    if (field !== null) this.fields?.markRefused(field);
  }

  set mode(mode: FrameMode | null) {
    this.#close.hidden = mode === null || mode === 'inline';
  }

  /** Focuses the first element to fill in: the first field, or the text field. */
  focus(): void {
    (
      this.element.querySelector<HTMLInputElement>('#fields:not([hidden]) :not([hidden]) > input') ??
      this.composer.input
    ).focus();
  }

  get draft(): UnsentInput {
    return { text: this.composer.text, fields: this.fields?.values ?? {} };
  }

  set draft({ text, fields }: UnsentInput) {
    this.composer.text = text;
    this.fields?.prefill(fields, true);
  }

  /** Asks for confirmation first if there is a conversation to leave. */
  renew(): void {
    const { words, chat } = this.options;
    if (!chat().scene.messages.some(({ role }) => role === 'user')) return this.#begin();
    this.#asking = true;
    const cancel = button(words.cancel, () => {
      this.#asking = false;
      this.#show();
      this.#renew.focus();
    });
    this.notice.say(
      words.newConversationAsk,
      button(words.newConversation, () => this.#begin(), 'primary'),
      cancel,
    );
    this.notice.element.querySelector('button')!.focus();
  }

  /** Stops speaking or listening, as when its button is not to be seen any more. */
  quiet(): void {
    this.#voice?.quiet();
  }

  /** Begins without a question. */
  begin(): void {
    this.#begin();
  }

  #actions(said: HTMLElement, message: () => ConversationMessage): HTMLButtonElement[] {
    const copy = copyButton(this.options.words, said, () => message().content, this.announcer);
    const voice = this.#voice === null ? [] : [this.#voice.speaker(() => said.innerText)];
    return [...voice, copy, ...this.#ratings(message())];
  }

  #ratings({ turnId, rating }: ConversationMessage): HTMLButtonElement[] {
    const { link, words, chat } = this.options;
    if (!link.feedback || turnId === undefined) return [];
    return ratingButtons({ words, rating: rating ?? null, rate: (wanted) => chat().rate(turnId, wanted) });
  }

  #begin(): void {
    this.quiet();
    this.#asking = false;
    this.options.chat().renew();
    this.#show();
    this.focus();
  }

  #send(text: string): boolean {
    const { link } = this.options;
    const chat = this.options.chat();
    if (this.typed !== null) {
      this.typed(text);
      return true;
    }
    if (
      chat.scene.status === 'loading' ||
      (!chat.scene.begun && (link.status === 'closed' || this.fields?.complete() === false))
    )
      return false;
    this.quiet();
    void chat.send(text);
    this.#show();
    this.#scroller.toEnd();
    return true;
  }

  /** Shows what waits for the visitor's word, above the text field. */
  #ask(calls: readonly PendingToolCall[]): void {
    if (this.#approval !== null) return this.#approval.show(calls);
    if (calls.length === 0) return;
    const { language, link, chat } = this.options;
    import('./approval.ts').then(
      ({ Approval }) => {
        if (this.#approval !== null) return;
        const say = (text: string): void => this.announcer.say(text);
        this.#approval = new Approval({
          language,
          name: link.name,
          dom: { element, button, filled },
          say,
          answer: (answers) => {
            chat().approve(answers);
            this.composer.input.focus();
          },
        });
        this.notice.element.before(this.#approval.element);
        this.#draw();
      },
      () => void after(reloadMs, this.#draw),
    );
  }

  /** Shows who answers, and the button that asks for a person. */
  #attend(attendance: Attendance | null, offered: boolean): void {
    if (this.#desk !== null) return this.#desk.show(attendance, offered);
    if (!offered && (attendance?.state ?? 'assistant') === 'assistant') return;
    const { language } = this.options;
    import('./desk.ts').then(
      ({ Desk }) => {
        if (this.#desk !== null) return;
        this.#desk = new Desk({ language, dom: { element, button, filled }, ask: () => this.#askForPerson() });
        this.composer.element.before(this.#desk.element);
        this.#draw();
      },
      () => void after(reloadMs, this.#draw),
    );
  }

  async #askForPerson(): Promise<void> {
    const chat = this.options.chat();
    if (chat.scene.begun || this.fields?.complete() !== false) await chat.ask();
  }

  #show(): void {
    const { link } = this.options;
    const { status, messages, approvals, trouble, attendance, begun } = this.options.chat().scene;
    this.#messages.show(messages);
    this.#ask(approvals);
    const isOver = status === 'over' || (link.status === 'closed' && !begun);
    this.#attend(
      isOver ? null : attendance,
      link.desk && !isOver && (begun ? status !== 'loading' : status === 'idle'),
    );
    const form = this.fields?.element ?? null;
    if (form !== null)
      form.hidden =
        begun || status === 'busy' || status === 'over' || link.status === 'closed' || this.fields!.isSettled;
    this.#empty.hidden = messages.length > 0 || status !== 'idle' || form?.hidden === false || link.status === 'closed';
    this.#scroller.element.ariaBusy = String(status === 'loading');
    this.composer.busy = status === 'busy';
    this.composer.element.hidden = isOver;
    this.#renew.hidden = !begun && status !== 'busy';
    if (!this.#asking)
      this.notice.show(trouble ?? (link.status === 'closed' ? { kind: 'closed' } : (this.#voice?.trouble ?? null)));
    this.#scroller.follow();
  }
}

/** The code for approvals did not load: it is asked for again. */
const reloadMs = 2000;

/** Announced text is removed after so long, so that nobody finds it twice when reading the page. */
const shownMs = 5000;

/** Announces text to a screen reader: a reply once, when it is whole, and not by its tokens. */
class Announcer {
  readonly element = element('div', {
    className: 'hidden',
    role: 'log',
    'aria-live': 'polite',
    'aria-relevant': 'additions',
  });

  say(text: string): void {
    const said = element('p', { dir: 'auto' }, text);
    this.element.append(said);
    after(shownMs, () => said.remove());
  }
}
