/** Words of a person that do not belong to a turn yet, in the order in which they arrived (contract 18). */
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';

export interface Words {
  readonly text: string;
  /** Milliseconds of audio from the first voice to the last. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Present if some of the words were typed. */
  readonly typed?: true;
}

export class PendingTranscript {
  #words: Words[] = [];
  /** Whether words remain of a message that had the maximum length. */
  #isLeftOver = false;

  /** All words, joined. */
  get text(): string {
    return this.#words.map(({ text }) => text).join(' ');
  }

  /** Whether the words fill a message. */
  get isFull(): boolean {
    return codePoints(this.text) >= limits.messageCharactersMax;
  }

  /** Whether some of the words were typed. */
  get isTyped(): boolean {
    return this.#words.some(({ typed }) => typed);
  }

  /** All words, without taking them; null if no word is pending. */
  get whole(): Words | null {
    const [first, last] = [this.#words[0], this.#words.at(-1)];
    if (first === undefined || last === undefined) return null;
    return { text: this.text, fromMs: first.fromMs, toMs: last.toMs, ...(this.isTyped && { typed: true }) };
  }

  add(words: Words): void {
    this.#words.push(words);
  }

  /** Appends a typed text to the words that were said. */
  type(text: string): void {
    const ms = this.#words.at(-1)?.toMs ?? 0;
    this.#words.push({ text, fromMs: ms, toMs: ms, typed: true });
  }

  /** Drops typed words. */
  untype(): void {
    this.#words = this.#words.filter(({ typed }) => typed === undefined);
  }

  /** Takes the words, at most 8,000 characters; null if no word is pending. */
  take(): Words | null {
    const { whole } = this;
    const last = this.#words.at(-1);
    if (whole === null || last === undefined) return null;
    const text = whole.text.slice(0, endWithin(whole.text));
    const rest = whole.text.slice(text.length).trim();
    this.#words = rest === '' ? [] : [{ ...last, text: rest }];
    this.#isLeftOver = rest !== '';
    return { ...whole, text };
  }

  /** Whether words remain of the message that was taken, and the taken words were not put back. */
  get isLeftOver(): boolean {
    return this.#isLeftOver;
  }

  /** Puts words of a withdrawn turn before the next ones. */
  putBack(words: Words): void {
    this.#isLeftOver = false;
    this.#words.unshift(words);
  }
}

/** Length of the longest beginning, in whole words, that fits into a message. */
function endWithin(text: string): number {
  const end = indexAfter(text, limits.messageCharactersMax);
  const space = end === text.length ? end : text.lastIndexOf(' ', end);
  return space > 0 ? space : end;
}
