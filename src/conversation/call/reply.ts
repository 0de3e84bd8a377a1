/**
 * One reply of a call (contract 18): carries out what its machine decides (`machines/reply.ts`) with its turn, the words
 * that it answers, its text (`transcript.ts`) and its audio (`playout.ts`).
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
import type { ReplyActor } from '../../host/replies.ts';
import type { Words } from '../../providers/voice/pending-transcript.ts';
import type { StreamingSynthesis, StreamingSynthesisOptions } from '../../providers/voice/streaming-synthesis.ts';
import type { Heard, Speaker } from '../../turn/ports.ts';
import type { TurnRunner } from '../../turn/runner.ts';
import { ReplyPlayout, type HeardAudio } from './playout.ts';
import type { CallPort } from './port.ts';
import { ReplyTranscript } from './transcript.ts';

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

export class Reply implements Speaker {
  readonly #port: ReplyPort;
  readonly #actor: ReplyActor;
  /** Hertz of the output. */
  readonly #rate: number;
  readonly #narration: StreamingSynthesis;
  readonly playout: ReplyPlayout;
  readonly transcript: ReplyTranscript;
  #runner: TurnRunner | null = null;
  #messageId = '';
  /** The words that its turn has taken from the person, until they are returned. */
  #words: Words | null = null;
  #typed: { readonly before: Words | null } | null = null;
  /** Text of the turn's message. */
  asked = '';
  /** Code points of its sentences whose synthesis has begun. */
  #characters = 0;
  /** Whether the model has written all of its text. */
  #isWritten = false;
  /** Position of its listener, once it settles. */
  #settled: Promise<Heard> | null = null;

  constructor({ port, actor, narrate }: ReplyOptions) {
    this.#port = port;
    this.#actor = actor;
    const { services, settings } = port;
    this.#rate = settings.outputSampleRate;
    this.transcript = new ReplyTranscript(port, settings.readersBehindMs);
    this.#narration = narrate({
      begun: (characters) => void (this.#characters += characters),
      written: () => this.#noteSentence(false),
    });
    this.playout = new ReplyPlayout({
      reply: this,
      narration: this.#narration,
      transcript: this.transcript,
      clock: services.clock,
      rate: this.#rate,
      aheadMs: settings.aheadMs,
      reports: () => port.context.reports,
      send: (frame, first) => port.sendAudio(this, frame, first),
      isFree: () => port.isFree(),
      note: (type) => this.send({ type }),
      due: (due) => this.#noteDue(due),
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
    this.transcript.begun(runner);
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
    this.transcript.push(piece);
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

  /** All of it was heard. */
  #finish(): void {
    const samples = this.playout.position.sent;
    const heard = this.#port.context.reports ? 'played' : 'estimated';
    this.#settled = Promise.resolve(this.#heardAt({ points: this.transcript.finish(), samples, heard }, 'none'));
  }

  /** Finds the position of its listener, and lets readers read up to it. */
  #settle(by: CutBy, basis: Basis): void {
    this.#settled ??= this.playout.heardBy(basis).then((heard) => this.#heardAt(heard, by));
  }

  /** Lets readers read up to a position, and describes it. */
  #heardAt({ points, samples, heard }: HeardAudio, by: CutBy): Heard {
    const audioMs = Math.round((samples * 1000) / this.#rate);
    return { points: this.transcript.release(points), voice: { audioMs, heard, cutBy: by === 'none' ? null : by } };
  }
}
