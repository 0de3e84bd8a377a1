/** One reply of a call: its turn, its text as the model writes it, and how far its listener is (contract 18). */
import type { CutBy } from '../../../machines/call.ts';
import type { TurnContext, TurnEnding } from '../../../machines/turn.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';
import type { SpokenReply } from '../../providers/voice/interruption.ts';
import type { Words } from '../../providers/voice/pending-transcript.ts';
import type { StreamingSynthesis } from '../../providers/voice/streaming-synthesis.ts';
import type { HeardVoice } from '../../store/store.ts';
import type { Heard, Speaker } from '../../turn/ports.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import { isStopping } from '../../turn/states.ts';
import { Mouth, type MouthOptions } from './mouth.ts';

/**
 * How it is found where the listener was when a reply is cut: by the client's answer, by the estimate, by its last
 * report, or by what was sent.
 */
export type Basis = 'answer' | 'estimate' | 'report' | 'sent';

export interface ReplyOptions extends Pick<
  MouthOptions,
  'clock' | 'rate' | 'aheadMs' | 'reports' | 'isFree' | 'ready' | 'due' | 'sent' | 'played' | 'unstored' | 'failed'
> {
  readonly narration: StreamingSynthesis;
  /**
   * Delay of the readers of its text behind its listener: within that time the client may still say that less was
   * heard.
   */
  readonly readersBehindMs: number;
  send(frame: Uint8Array): void;
  /** More of the text was heard. */
  delta(text: string): void;
  /** The model makes no more. */
  modelOver(reason: 'completed' | 'provider' | 'ours'): void;
  /** The last sentence is written. */
  wrote(): void;
  /** Something else than the call ends the turn: how its listener was reached until then. */
  ended(ending: TurnEnding): Heard | Promise<Heard>;
}

/** Pieces of the text that are supplied at once, at most. */
const suppliedAtOnce = 1_000;

/** The time within which an echo can repeat a reply. */
const latelyMs = 5_000;

export class Reply implements Speaker {
  readonly mouth: Mouth;
  readonly #options: ReplyOptions;
  readonly #clock: Clock;
  /** The turn; null for the greeting, and before it has begun. */
  runner: TurnRunner | null = null;
  messageId = '';
  /** The person's words and the text of the turn's message. */
  words: Words | null = null;
  asked = '';
  /** The text that was typed is all of its message that is new: the words before it. */
  typed: { readonly before: Words | null } | null = null;
  /** Characters of its begun sentences, not counted yet. */
  characters = 0;
  /** How long its turn would have to wait for the limit that refuses it. */
  waitSeconds: number | undefined;
  /** The code of its first failure. */
  failing: string | null = null;
  /** Whether the client was told of the turn. */
  isTold = false;
  /** Whether audio of it was sent. */
  isHeard = false;
  /** Whether the call has left it: nothing that still comes of it counts. */
  isLeft = false;
  /** As the model has written it so far. */
  said = '';
  modelIsOver = false;
  /** The position of its listener once it is settled. */
  settled: Promise<Heard> | null = null;
  #supplied = 0;
  /** Positions of its listener and of its readers, in code points. */
  #heard = 0;
  #released = 0;
  /** When how much had been heard. */
  readonly #course: { readonly at: number; readonly points: number }[] = [];
  #answered: () => void = () => {};
  #unanswered: () => void = () => {};

  constructor(options: ReplyOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.mouth = new Mouth({
      ...options,
      supply: (points) => this.#supply(points),
      heard: (points) => this.#follow(points),
    });
  }

  get turnId(): string | null {
    return this.runner?.turnId ?? null;
  }

  text(piece: string): void {
    this.said += piece;
    this.#options.narration.push(piece);
  }

  rests(): void {
    this.#options.narration.rest();
  }

  over(reason: 'completed' | 'provider' | 'ours'): void {
    this.modelIsOver = true;
    if (reason === 'completed') {
      this.#options.narration.end();
      this.#options.wrote();
    }
    this.#options.modelOver(reason);
  }

  heard(ending: TurnEnding): Heard | Promise<Heard> {
    return this.settled ?? this.#options.ended(ending);
  }

  /** The client has played so many samples. */
  report(samples: number): void {
    this.mouth.report(samples);
    this.#answered();
  }

  /** Whether the client says what it plays. */
  get isReported(): boolean {
    return this.#options.reports();
  }

  /** No report comes any more: a cut that waits for one goes by the estimate. */
  unreported(): void {
    this.#unanswered();
  }

  /** All of it was heard, also what the voice leaves out. */
  finish(): void {
    const points = codePoints(this.said);
    void this.#supply(points);
    this.#reach(points);
    this.#release(points);
    this.settled = Promise.resolve(
      this.#heardAt(points, this.mouth.cursor.sent, this.#options.reports() ? 'played' : 'estimated', null),
    );
  }

  /** Whether calls of tools are stored in its turn, which is then never withdrawn. */
  get hasCalled(): boolean {
    return this.runner !== null && (this.runner.machine.context as TurnContext).called;
  }

  /** Settles where its listener is; nothing of it is sent any more. */
  settle(reason: CutBy, basis: Basis): Promise<Heard> {
    this.mouth.stop();
    const cutBy = reason === 'none' ? null : reason;
    this.settled ??= this.#position(basis, cutBy).then((heard) => {
      this.#release(heard.points);
      return heard;
    });
    return this.settled;
  }

  async #position(basis: Basis, cutBy: HeardVoice['cutBy']): Promise<Heard> {
    const { cursor } = this.mouth;
    if (basis === 'sent') return this.#heardAt(cursor.begunAt(cursor.sent), cursor.sent, 'sent', cutBy);
    const estimate = cursor.estimated(this.#clock.monotonic());
    if (basis === 'answer' && cursor.sent > 0 && (await this.#answer()))
      return this.#heardAt(cursor.pointsAt(cursor.reported!), cursor.reported!, 'played', cutBy);
    if (basis === 'report')
      return this.#heardAt(cursor.pointsAt(cursor.reported ?? 0), cursor.reported ?? 0, 'played', cutBy);
    return this.#heardAt(cursor.pointsAt(estimate), estimate, 'estimated', cutBy);
  }

  /**
   * Whether the client says in time what it has played. A report may have been on its way already, so the last one
   * counts.
   */
  #answer(): Promise<boolean> {
    return new Promise((resolve) => {
      let isAnswered = false;
      const end = (): void => {
        timer.cancel();
        rest?.cancel();
        resolve(isAnswered);
      };
      let rest: Timer | null = null;
      const timer = this.#clock.after(limits.callPlayedMs, end);
      this.#unanswered = end;
      this.#answered = () => {
        isAnswered = true;
        rest?.cancel();
        rest = this.#clock.after(limits.callAnswerMs, end);
      };
    });
  }

  /** The position is never before what readers have. */
  #heardAt(points: number, samples: number, heard: HeardVoice['heard'], cutBy: HeardVoice['cutBy']): Heard {
    const reached = Math.max(points, this.#released);
    return { points: reached, voice: { audioMs: Math.round((samples * 1000) / this.#options.rate), heard, cutBy } };
  }

  /** The reply as an utterance over it sees it. */
  spoken(outlasted: boolean): SpokenReply {
    const since = this.#clock.monotonic() - latelyMs;
    const before = this.#course.findLast(({ at }) => at < since)?.points ?? 0;
    return {
      lately: this.#between(before, this.#heard),
      lastSentence: lastSentenceOf(this.#between(0, this.#heard)),
      outlasted,
    };
  }

  /** Its text goes into the log word by word, so that readers get it so. */
  #supply(points: number): boolean | Promise<boolean> {
    if (points <= this.#supplied) return true;
    const piece = this.#between(this.#supplied, points);
    this.#supplied = points;
    const { runner } = this;
    if (runner === null) return true;
    const words = piece.match(/\s*\S+|\s+$/gu) ?? [];
    // A reader gets several signs at a time of a long row of which nothing is said.
    const together = Math.ceil(words.length / suppliedAtOnce);
    let stored: Promise<boolean> | undefined;
    for (let at = 0; at < words.length; at += together) stored = runner.supply(words.slice(at, at + together).join(''));
    return stored === undefined || this.#isKept(stored, runner);
  }

  /**
   * Whether the text is stored. A turn that is being stopped asks first where its listener was, and nothing has failed.
   */
  async #isKept(stored: Promise<boolean>, runner: TurnRunner): Promise<boolean> {
    if (await stored) return true;
    if (isStopping(runner.machine)) await runner.ended;
    return false;
  }

  /** Its text from one code point to before another. */
  #between(from: number, to: number): string {
    return this.said.slice(indexAfter(this.said, from), indexAfter(this.said, to));
  }

  /**
   * The listener is so far, and the readers follow. It is called while the reply is played, whether or not the listener
   * got on.
   */
  #follow(points: number): void {
    const since = this.#clock.monotonic() - this.#options.readersBehindMs;
    this.#reach(points);
    this.#release(this.#course.findLast(({ at }) => at <= since)?.points ?? 0);
  }

  #reach(points: number): void {
    if (points <= this.#heard) return;
    this.#heard = points;
    this.#course.push({ at: this.#clock.monotonic(), points });
  }

  #release(points: number): void {
    if (points <= this.#released) return;
    const text = this.#between(this.#released, points);
    this.#released = points;
    this.runner?.release(points);
    this.#options.delta(text);
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
