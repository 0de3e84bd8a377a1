/** The words of a person that no turn has yet, in the order in which they came (contract 18). */
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';

export interface Words {
  readonly text: string;
  /** From the first voice to the last, in milliseconds of audio. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether some of them were typed. */
  readonly typed?: true;
}

export class PendingTranscript {
  #words: Words[] = [];
  /** Whether words are left over from a message that was as long as one may be. */
  #isLeftOver = false;

  /** All of them, joined. */
  get text(): string {
    return this.#words.map(({ text }) => text).join(' ');
  }

  /** Whether they are as long as a message may be. */
  get isFull(): boolean {
    return codePoints(this.text) >= limits.messageCharactersMax;
  }

  /** Whether some of them were typed. */
  get isTyped(): boolean {
    return this.#words.some(({ typed }) => typed);
  }

  /** All of them, which stay in hand; null if there are none. */
  get whole(): Words | null {
    const [first, last] = [this.#words[0], this.#words.at(-1)];
    if (first === undefined || last === undefined) return null;
    return { text: this.text, fromMs: first.fromMs, toMs: last.toMs, ...(this.isTyped && { typed: true }) };
  }

  add(words: Words): void {
    this.#words.push(words);
  }

  /** A text that was typed comes behind what was said. */
  type(text: string): void {
    const ms = this.#words.at(-1)?.toMs ?? 0;
    this.#words.push({ text, fromMs: ms, toMs: ms, typed: true });
  }

  /** Drops what was typed. */
  untype(): void {
    this.#words = this.#words.filter(({ typed }) => typed === undefined);
  }

  /** Takes them, at most 8,000 characters; null if there are none. */
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

  /** Whether words are left over from the message that was taken, and have not come back to them. */
  get isLeftOver(): boolean {
    return this.#isLeftOver;
  }

  /** Words that were taken for a turn that is withdrawn begin the next one. */
  putBack(words: Words): void {
    this.#isLeftOver = false;
    this.#words.unshift(words);
  }
}

/** The length of the beginning that a message may have, in whole words. */
function endWithin(text: string): number {
  const end = indexAfter(text, limits.messageCharactersMax);
  const space = end === text.length ? end : text.lastIndexOf(' ', end);
  return space > 0 ? space : end;
}
