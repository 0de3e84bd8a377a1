/**
 * One reply of a call (contract 18): carries out what its machine decides (`machines/reply.ts`), with its text as the
 * model writes it, its audio (`playout.ts`) and the position of its listener.
 */
import type { CutBy } from '../../../machines/call.ts';
import {
  openReplyStates,
  type Basis,
  type ReplyContext,
  type ReplyEvent,
  type ReplyOutcome,
} from '../../../machines/reply.ts';
import type { TurnEnding } from '../../../machines/turn.ts';
import type { Timer } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { codePoints, indexAfter } from '../../base/text.ts';
import type { ReplyActor } from '../../host/replies.ts';
import type { SpokenReply } from '../../providers/voice/interruption.ts';
import type { Words } from '../../providers/voice/pending-transcript.ts';
import type { StreamingSynthesis, StreamingSynthesisOptions } from '../../providers/voice/streaming-synthesis.ts';
import type { HeardVoice } from '../../store/store.ts';
import type { Heard, Speaker } from '../../turn/ports.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import { isStopping } from '../../turn/states.ts';
import { ReplyPlayout } from './playout.ts';
import type { CallPort } from './port.ts';
import type { CallSettings } from './settings.ts';

/** Milliseconds after a report in which the seal waits for a newer one. */
const callAnswerMs = 100;

/** The call as a reply sees it. */
export interface ReplyPort extends Pick<CallPort, 'services' | 'settings' | 'now' | 'context' | 'send' | 'tell'> {
  /** `first`: no audio of the reply was sent before. */
  sendAudio(reply: Reply, frame: Uint8Array, first: boolean): void;
  /** Whether the connection has taken what was sent. */
  isFree(): boolean;
  /** Adds characters to the usage of the call. */
  count(characters: number): void;
  /** A request, the end of the session or a fault stops the turn of the reply. */
  turnStopped(reply: Reply, ending: TurnEnding): void;
  /** Logs a failure of the synthesis; returns its error code. */
  spoiled(error: unknown): string;
}

export interface ReplyOptions {
  readonly port: ReplyPort;
  readonly actor: ReplyActor;
  narrate(spoken: Pick<StreamingSynthesisOptions, 'begun' | 'written'>): StreamingSynthesis;
}

/** Event of the machine without its time. */
export type Untimed<Event> = Event extends { readonly at: number } ? Omit<Event, 'at'> : never;

/** Pieces of the text that are supplied at once, at most. */
const suppliedAtOnce = 1_000;

/** Milliseconds within which an echo can repeat a reply. */
const latelyMs = 5_000;

export class Reply implements Speaker {
  readonly #port: ReplyPort;
  readonly #actor: ReplyActor;
  readonly #settings: CallSettings;
  readonly #narration: StreamingSynthesis;
  readonly playout: ReplyPlayout;
  #runner: TurnRunner | null = null;
  #messageId = '';
  /** The words that its turn has taken from the person, until they are returned. */
  #words: Words | null = null;
  #typed: { readonly before: Words | null } | null = null;
  /** Text of the turn's message. */
  asked = '';
  /** Code points of its sentences whose synthesis has begun. */
  #characters = 0;
  /** Text that the model has written so far. */
  #text = '';
  #isWritten = false;
  /** Position of its listener, once it settles. */
  #settled: Promise<Heard> | null = null;
  #supplied = 0;
  /** Positions of its listener and of its readers, in code points. */
  #heard = 0;
  #released = 0;
  /** Positions of its listener by time. */
  readonly #course: { readonly at: number; readonly points: number }[] = [];
  #answered: () => void = () => {};
  #unanswered: () => void = () => {};

  constructor({ port, actor, narrate }: ReplyOptions) {
    this.#port = port;
    this.#actor = actor;
    const { services, settings } = port;
    this.#settings = settings;
    this.#narration = narrate({
      begun: (characters) => void (this.#characters += characters),
      written: () => this.#noteSentence(false),
    });
    this.playout = new ReplyPlayout({
      reply: this,
      narration: this.#narration,
      clock: services.clock,
      rate: settings.outputSampleRate,
      aheadMs: settings.aheadMs,
      reports: () => port.context.reports,
      supply: (points) => this.#supply(points),
      send: (frame, first) => port.sendAudio(this, frame, first),
      isFree: () => port.isFree(),
      note: (type) => this.send({ type }),
      due: (due) => this.#noteDue(due),
      heard: (points) => this.#follow(points),
      unstored: () => this.send({ type: 'ended' }),
      failed: (error) => this.spoil(error),
    });
  }

  /** Turn in the store; null for the greeting, and before the turn has begun. */
  get runner(): TurnRunner | null {
    return this.#runner;
  }

  get turnId(): string | null {
    return this.#runner?.turnId ?? null;
  }

  get messageId(): string {
    return this.#messageId;
  }

  get state(): string {
    return this.#actor.state;
  }

  get context(): ReplyContext {
    return this.#actor.context;
  }

  /** Whether the call can still speak it: a reply that the call has left is not open. */
  get isOpen(): boolean {
    return openReplyStates.has(this.state);
  }

  /** Whether the client knows it. */
  get isAnnounced(): boolean {
    return this.context.announced;
  }

  /** Whether its turn has stored tool calls: such a turn is never withdrawn. */
  get hasCalled(): boolean {
    return this.#runner !== null && this.#runner.machine.context.called;
  }

  /** Sends its machine an event, and carries out what concerns its audio. Returns all outcomes. */
  send(event: Untimed<ReplyEvent>): ReplyOutcome[] {
    const wasOpen = this.isOpen;
    const outcomes = this.#actor.send({ ...event, at: this.#port.now });
    if (wasOpen && !this.isOpen) this.playout.stop();
    for (const outcome of outcomes) this.#act(outcome);
    return outcomes;
  }

  #act(outcome: ReplyOutcome): void {
    const port = this.#port;
    const at = port.now;
    const message_id = this.#messageId;
    switch (outcome.type) {
      case 'turn.started':
        return this.#start();
      case 'audio.ready':
        return port.send({ type: 'audio', at });
      case 'audio.begin':
        port.tell({ type: 'audio.start', message_id, turn_id: this.turnId });
        return this.playout.begin();
      case 'audio.pause':
        this.playout.pause();
        return port.tell({ type: 'audio.pause', message_id });
      case 'audio.resume':
        port.tell({ type: 'audio.resume', message_id });
        return this.playout.resume();
      case 'audio.stop':
        return this.playout.curb();
      case 'audio.end':
        return port.tell({ type: 'audio.end', message_id, samples: this.playout.position.sent });
      case 'audio.played':
        return port.send({ type: 'played', at });
      case 'reply.failed':
        return port.send({ type: 'failed', at, code: outcome.code });
      case 'usage.count':
        return port.count(this.#characters);
      case 'position.ask':
        return this.#settle(outcome.by, outcome.basis);
      case 'turn.finish':
        return this.#finish();
      // The turns of a call begin and end one after the other (`turn-starter.ts`, `turn-finisher.ts`).
      case 'turn.ask':
      case 'turn.announce':
      case 'turn.withdraw':
      case 'turn.cut':
      case 'turn.ended':
      case 'turn.fail':
      case 'words.return':
      case 'unchanged':
    }
  }

  #start(): void {
    this.#port.tell({
      type: 'turn.started',
      turn_id: this.turnId!,
      message_id: this.#messageId,
      text: this.asked,
      spoken: true,
    });
    if (this.#isWritten) this.#noteSentence(true);
  }

  #noteSentence(last: boolean): void {
    if (this.isOpen) this.#port.send({ type: 'sentence', at: this.#port.now, last });
  }

  #noteDue(due: boolean): void {
    if (this.isOpen) this.#port.send({ type: 'due', at: this.#port.now, due });
  }

  /** Speaks the greeting, a message that is stored. */
  greet(messageId: string, text: string): void {
    this.#messageId = messageId;
    this.text(text);
    this.over('completed');
  }

  /** Takes the turn that the store has begun. */
  begun(runner: TurnRunner): ReplyOutcome[] {
    this.#runner = runner;
    this.#messageId = runner.messageId;
    return this.send({ type: 'begun' });
  }

  get words(): Words | null {
    return this.#words;
  }

  /** For a message that was typed: the words of the person before it. */
  get typed(): { readonly before: Words | null } | null {
    return this.#typed;
  }

  /** Owns the words from now on. */
  takeWords(words: Words | null, typed: { readonly before: Words | null } | null = null): void {
    this.#words = words;
    this.#typed = typed;
  }

  /** Gives the words away; null if it has none. */
  giveWords(): Words | null {
    const words = this.#words;
    this.#words = null;
    return words;
  }

  text(piece: string): void {
    this.#text += piece;
    this.#narration.push(piece);
  }

  rests(): void {
    this.#narration.rest();
  }

  over(reason: 'completed' | 'provider' | 'ours'): void {
    this.#isWritten = true;
    if (reason === 'completed') {
      this.#narration.end();
      return this.#noteSentence(true);
    }
    if (!this.isOpen) return;
    this.playout.curb();
    this.send({ type: 'failed', code: reason === 'provider' ? 'assistant_unavailable' : 'api_error' });
  }

  /** The reply cannot be spoken. */
  spoil(error: unknown): void {
    if (this.isOpen) this.send({ type: 'failed', code: this.#port.spoiled(error) });
  }

  heard(ending: TurnEnding): Heard | Promise<Heard> {
    if (this.#settled !== null) return this.#settled;
    this.#port.turnStopped(this, ending);
    this.send({ type: 'stopped' });
    return this.position;
  }

  /** Position of its listener, at the end of a reply that settles. */
  get position(): Promise<Heard> {
    this.#settle('none', 'estimate');
    return this.#settled!;
  }

  /** Takes the client's report of the samples that it has played. */
  report(samples: number): void {
    this.playout.report(samples);
    this.#answered();
  }

  /** The client reports no more: a cut that waits for a report uses the estimate. */
  unreported(): void {
    this.#unanswered();
  }

  /** All of it was heard, also what the voice leaves out. */
  #finish(): void {
    const points = codePoints(this.#text);
    void this.#supply(points);
    this.#reach(points);
    this.#release(points);
    this.#settled = Promise.resolve(
      this.#heardAt(points, this.playout.position.sent, this.#port.context.reports ? 'played' : 'estimated', null),
    );
  }

  /** Finds the position of its listener, and lets readers read up to it. */
  #settle(by: CutBy, basis: Basis): void {
    this.#settled ??= this.#find(basis, by === 'none' ? null : by).then((heard) => {
      this.#release(heard.points);
      return heard;
    });
  }

  async #find(basis: Basis, cutBy: HeardVoice['cutBy']): Promise<Heard> {
    const { position } = this.playout;
    if (basis === 'sent') return this.#heardAt(position.begunAt(position.sent), position.sent, 'sent', cutBy);
    const estimate = position.estimated(this.#clock.monotonic());
    if (basis === 'answer' && position.sent > 0 && (await this.#answer()))
      return this.#heardAt(position.pointsAt(position.reported!), position.reported!, 'played', cutBy);
    if (basis === 'report')
      return this.#heardAt(position.pointsAt(position.reported ?? 0), position.reported ?? 0, 'played', cutBy);
    return this.#heardAt(position.pointsAt(estimate), estimate, 'estimated', cutBy);
  }

  get #clock() {
    return this.#port.services.clock;
  }

  /**
   * Resolves with whether the client reports in time what it has played. A report may have been on its way already, so
   * the last one counts.
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
        rest = this.#clock.after(callAnswerMs, end);
      };
    });
  }

  /** Describes a position, which is never before the position of its readers. */
  #heardAt(points: number, samples: number, heard: HeardVoice['heard'], cutBy: HeardVoice['cutBy']): Heard {
    const reached = Math.max(points, this.#released);
    const audioMs = Math.round((samples * 1000) / this.#settings.outputSampleRate);
    return { points: reached, voice: { audioMs, heard, cutBy } };
  }

  /** Describes the reply for the classification of an utterance over it. */
  spoken(outlasted: boolean): SpokenReply {
    const since = this.#clock.monotonic() - latelyMs;
    const before = this.#course.findLast(({ at }) => at < since)?.points ?? 0;
    return {
      lately: this.#between(before, this.#heard),
      lastSentence: lastSentenceOf(this.#between(0, this.#heard)),
      outlasted,
    };
  }

  /** Supplies its text to the log word by word: readers get it in these pieces. */
  #supply(points: number): boolean | Promise<boolean> {
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

  /** Returns its text from one code point to before another. */
  #between(from: number, to: number): string {
    return this.#text.slice(indexAfter(this.#text, from), indexAfter(this.#text, to));
  }

  /** Notes the position of the listener, which readers follow. Called repeatedly while the reply is played. */
  #follow(points: number): void {
    const since = this.#clock.monotonic() - this.#settings.readersBehindMs;
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
    this.#runner?.release(points);
    if (text !== '' && this.#runner !== null)
      this.#port.tell({ type: 'message.delta', message_id: this.#messageId, text });
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
