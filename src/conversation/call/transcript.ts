/**
 * The text of one reply of a call (contract 18): stored before its audio is sent, and shown to readers a little after
 * its listener has heard it. Positions are code points of the text.
 */
import { codePoints, indexAfter } from '../../base/text.ts';
import type { SpokenReply } from '../../providers/voice/interruption.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import { isStopping } from '../../turn/states.ts';
import type { CallPort } from './port.ts';

/** Pieces of the text that are supplied at once, at most. */
const suppliedAtOnce = 1_000;

/** Milliseconds within which an echo can repeat a reply. */
const latelyMs = 5_000;

export class ReplyTranscript {
  readonly #port: Pick<CallPort, 'services' | 'tell'>;
  readonly #readersBehindMs: number;
  /** Turn that takes the text; null for the greeting, and before the turn has begun. */
  #runner: TurnRunner | null = null;
  /** Text that the model has written so far. */
  #text = '';
  #supplied = 0;
  /** Positions of its listener and of its readers. */
  #heard = 0;
  #released = 0;
  /** Positions of its listener by monotonic milliseconds. */
  readonly #course: { readonly at: number; readonly points: number }[] = [];

  constructor(port: Pick<CallPort, 'services' | 'tell'>, readersBehindMs: number) {
    this.#port = port;
    this.#readersBehindMs = readersBehindMs;
  }

  /** Takes the turn that the store has begun. */
  begun(runner: TurnRunner): void {
    this.#runner = runner;
  }

  push(piece: string): void {
    this.#text += piece;
  }

  /**
   * Supplies its text to the log word by word: readers get it in these pieces. Returns whether it is stored, at once if
   * it was supplied before.
   */
  supply(points: number): boolean | Promise<boolean> {
    if (points <= this.#supplied) return true;
    const piece = this.#between(this.#supplied, points);
    this.#supplied = points;
    const runner = this.#runner;
    if (runner === null) return true;
    const words = piece.match(/\s*\S+|\s+$/gu) ?? [];
    // Readers get several words at once of a long row of signs that are not spoken.
    const together = Math.ceil(words.length / suppliedAtOnce);
    let stored: Promise<boolean> | undefined;
    for (let at = 0; at < words.length; at += together) stored = runner.supply(words.slice(at, at + together).join(''));
    return stored === undefined || this.#isKept(stored, runner);
  }

  /** Resolves with whether the text is stored. A turn that a request stops asks for the position before it ends. */
  async #isKept(stored: Promise<boolean>, runner: TurnRunner): Promise<boolean> {
    if (await stored) return true;
    if (isStopping(runner.machine)) await runner.ended;
    return false;
  }

  /** Notes the position of the listener, which readers follow. Called repeatedly while the reply is played. */
  follow(points: number): void {
    const since = this.#now - this.#readersBehindMs;
    this.#reach(points);
    this.release(this.#course.findLast(({ at }) => at <= since)?.points ?? 0);
  }

  /** Lets readers read up to a position; returns theirs, which never moves back. */
  release(points: number): number {
    if (points <= this.#released) return this.#released;
    const text = this.#between(this.#released, points);
    this.#released = points;
    const runner = this.#runner;
    runner?.release(points);
    if (text !== '' && runner !== null) this.#port.tell({ type: 'message.delta', message_id: runner.messageId, text });
    return points;
  }

  /** Supplies all of its text as heard, also what the voice leaves out; returns the end's position. */
  finish(): number {
    const points = codePoints(this.#text);
    void this.supply(points);
    this.#reach(points);
    return points;
  }

  /** Describes the reply for the classification of an utterance over it. */
  spoken(outlasted: boolean): SpokenReply {
    const since = this.#now - latelyMs;
    const before = this.#course.findLast(({ at }) => at < since)?.points ?? 0;
    return {
      lately: this.#between(before, this.#heard),
      lastSentence: lastSentenceOf(this.#between(0, this.#heard)),
      outlasted,
    };
  }

  get #now(): number {
    return this.#port.services.clock.monotonic();
  }

  #reach(points: number): void {
    if (points <= this.#heard) return;
    this.#heard = points;
    this.#course.push({ at: this.#now, points });
  }

  /** Returns its text from one code point to before another. */
  #between(from: number, to: number): string {
    return this.#text.slice(indexAfter(this.#text, from), indexAfter(this.#text, to));
  }
}

const closingMarks = '"\'”’)*_';
const sentenceMarks = '.!?';

/** The last sentence of a text with the marks that close it, or the beginning of a sentence that has not ended. */
export function lastSentenceOf(text: string): string {
  const trimmed = text.trimEnd();
  let at = trimmed.length;
  while (at > 0 && closingMarks.includes(trimmed[at - 1]!)) at--;
  while (at > 0 && sentenceMarks.includes(trimmed[at - 1]!)) at--;
  while (at > 0 && !sentenceMarks.includes(trimmed[at - 1]!)) at--;
  return trimmed.slice(at);
}
