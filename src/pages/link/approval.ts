/**
 * The call of a tool that a visitor is to approve, one at a time, with its arguments and two buttons. It is loaded when
 * the first one comes.
 */
import type { PendingToolCall, ToolResult } from '../../client/types.ts';
import type { Language } from '../words.ts';
import { approvalWords } from './approval-words.ts';

export interface ApprovalOptions {
  readonly language: Language;
  /** The assistant's. */
  readonly name: string;
  /** Functions that make the page's elements: passed in, so that they stay in the page's own file. */
  readonly dom: Pick<typeof import('../dom.ts'), 'element' | 'button' | 'filled'>;
  /** Announces a text to screen readers. */
  say(text: string): void;
  /** Every call has its answer. */
  answer(answers: readonly ToolResult[]): void;
}

export class Approval {
  readonly element: HTMLElement;
  readonly #options: ApprovalOptions;
  readonly #question: string;
  #calls: readonly PendingToolCall[] = [];
  #answers: ToolResult[] = [];

  constructor(options: ApprovalOptions) {
    const { language, name, dom } = options;
    this.#options = options;
    this.#question = dom.filled(approvalWords[language].question, { name });
    this.element = dom.element('section', {
      id: 'approval',
      className: 'said',
      tabIndex: -1,
      hidden: true,
      'aria-label': this.#question,
    });
  }

  show(calls: readonly PendingToolCall[]): void {
    if (calls === this.#calls) return;
    this.#calls = calls;
    this.#answers = [];
    this.#put();
  }

  #put(): void {
    const call = this.#calls[this.#answers.length];
    this.element.hidden = call === undefined;
    if (call === undefined) return;
    const { language, dom, say } = this.#options;
    const words = approvalWords[language];
    const { element, button } = dom;
    const rows = Object.entries(call.arguments ?? {}).map(([name, value]) =>
      element(
        'tr',
        {},
        element('th', { scope: 'row', dir: 'auto' }, plain(name)),
        element('td', { dir: 'auto' }, plain(typeof value === 'string' ? value : JSON.stringify(value))),
      ),
    );
    // Long arguments are scrolled, with the keyboard too.
    const details = element(
      'div',
      { className: 'details', tabIndex: 0, role: 'group', 'aria-label': call.name },
      element('code', {}, call.name),
      element('table', {}, ...rows),
    );
    const question =
      this.#question + (this.#calls.length > 1 ? ` (${this.#answers.length + 1}/${this.#calls.length})` : '');
    const give = (approved: boolean) => (): void => this.#answer({ call_id: call.call_id, approved });
    this.element.replaceChildren(
      element('p', {}, question),
      details,
      element(
        'div',
        { className: 'beside' },
        button(words.approve, give(true), 'primary'),
        button(words.decline, give(false)),
      ),
      element('p', { className: 'empty' }, words.note),
    );
    say(`${question} ${details.innerText}`);
  }

  #answer(answer: ToolResult): void {
    this.#answers.push(answer);
    if (this.#answers.length === this.#calls.length) return this.#options.answer(this.#answers);
    this.#put();
    this.element.focus();
  }
}

/** Marks that would turn the order of what is read are shown as their numbers. */
const plain = (text: string): string =>
  text.replace(
    /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (mark) => `[U+${mark.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
