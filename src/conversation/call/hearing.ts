/**
 * Hears the person of a call: tells the machine of their voice, their words and the end of their turn (contract 18).
 */
import type { CallContext, CallEvent, Ignored, Utterance } from '../../../machines/call.ts';
import { limits } from '../../base/limits.ts';
import type { Interruption, SpokenReply } from '../../providers/voice/interruption.ts';
import type { TurnDetector, TurnDetectorEvent } from '../../providers/voice/turn-detector.ts';
import { PendingTranscript, type Words } from '../../providers/voice/pending-transcript.ts';
import type { Services } from '../services.ts';
import { transcriberOf, type ReadyVoice } from '../voice-call.ts';
import type { Reply } from './reply.ts';
import type { CallSettings } from './settings.ts';

/** The facts of the call that an utterance depends on. */
export interface HeardCall {
  readonly state: string;
  readonly context: CallContext;
  readonly settings: CallSettings;
  /** The reply that is thought of or spoken, once the client knows of it. */
  readonly told: Reply | null;
  /** The reply under way, be it known or asked for early. */
  readonly reply: Reply | null;
  /** The reply before, and when it ended in monotonic milliseconds. */
  readonly last: { readonly reply: Reply; readonly at: number } | null;
}

export interface HearingOptions {
  readonly services: Services;
  /** The call's time, which is not set with the wall clock. */
  now(): number;
  /** The call's, among those that share the voice processes. */
  readonly caller: string;
  readonly ready: ReadyVoice;
  readonly call: HeardCall;
  /** Sends the machine an event. */
  send(event: CallEvent): void;
  /** Tells the client. */
  tell(message: object): void;
  /** Somebody begins to speak. */
  begins(): void;
  failed(error: unknown): void;
}

/**
 * Milliseconds of voice over a reply that pause it, cut it in the mode `voice`, and count as words where there are no
 * partials.
 */
const [pausesAt, cutsAt, countsAt] = [200, 500, 1_000];
/** A turn of the person that is longer is not asked for early. */
const earlyMsMax = 10_000;
/** An utterance that begins so soon after a reply may still belong to it. */
const afterReplyMs = 500;
/** The states in which a turn of the person has ended, and the client may not have been told of it yet. */
const awaited: ReadonlySet<string> = new Set(['thinking', 'held']);
/** Utterances whose replies are remembered. */
const rememberedMax = 8;

export class Hearing {
  readonly #options: HearingOptions;
  readonly #hand = new PendingTranscript();
  #ear: TurnDetector | null = null;
  /** The words with which the model is asked early. */
  early: Words | null = null;
  /** When a voice was heard last, in monotonic milliseconds. */
  lastVoiceAt: number | null = null;
  /** The utterance under way, or the last one. */
  utterance: Utterance | undefined;
  /**
   * By utterance: the reply that it holds or cuts, and the one that it may be a backchannel to or an echo of, of which
   * the client was told.
   */
  readonly #over = new Map<number, { readonly reply: Reply | null; readonly told: Reply | null }>();
  /** Events that the utterance under way has brought about. */
  readonly #told = new Set<'voiced' | 'words'>();

  constructor(options: HearingOptions) {
    this.#options = options;
  }

  /** Whether audio has come, so that the settings stand. */
  get listens(): boolean {
    return this.#ear !== null;
  }

  /** Whether a voice is heard, or a final is owed. */
  get busy(): boolean {
    return this.#ear?.busy ?? false;
  }

  /** Audio of 16 kHz. */
  listen(samples: Int16Array): void {
    const ear = (this.#ear ??= this.#open());
    ear.push(samples);
    if (ear.backlogMs > limits.socketBacklogMs) this.#options.failed(new Error('No detector takes the audio.'));
  }

  /** Makes a turn of all that was said so far; false without a word. */
  async flush(): Promise<boolean> {
    await this.#ear?.flush();
    return this.#turnIsOver();
  }

  /** The words so far come to hand, and the turn goes on. */
  async endUtterance(): Promise<void> {
    await this.#ear?.flush();
  }

  /** Drops the utterance under way, and audio that was not looked at. */
  async clear(): Promise<void> {
    await this.#ear?.clear();
    if (this.#call.state === 'hearing' && !this.busy)
      this.#options.send({ type: 'unsaid', ...this.#noted, ignored: null });
  }

  /**
   * Takes the words in hand, those of the utterance under way and a text that was typed; `spoken`: without the text.
   */
  async takeWith(typed: string): Promise<{ readonly words: Words | null; readonly spoken: Words | null }> {
    if (this.busy) await this.#ear!.flush();
    const spoken = this.#hand.whole;
    this.#hand.type(typed);
    return { words: this.#hand.take(), spoken };
  }

  /** A text that was typed is not taken: only the words before it stay. */
  untype(): void {
    this.#hand.untype();
  }

  /**
   * Makes the person's next turn of the words that are left over from the message that was answered, unless they speak.
   */
  goOn(): void {
    if (this.#hand.isLeftOver && !this.busy) this.#turnIsOver();
  }

  take(): Words | null {
    return this.#hand.take();
  }

  putBack(words: Words): void {
    this.#hand.putBack(words);
  }

  deafen(deaf: boolean): void {
    this.#ear?.deafen(deaf);
  }

  close(): void {
    this.#ear?.close();
  }

  get #call(): HeardCall {
    return this.#options.call;
  }

  get #now(): number {
    return this.#options.now();
  }

  #open(): TurnDetector {
    const { services, caller, ready, failed } = this.#options;
    const { turnSilenceMs, partials, language } = this.#call.settings;
    return services.voice.turnDetector(caller, {
      ...{ turnSilenceMs, partials, failed, pending: this.#hand },
      repeats: ready.provider.partials,
      transcribe: transcriberOf(ready, caller, language),
      begins: () => true,
      emit: (event) => this.#emit(event),
      replyOf: (utterance) => this.#replyOf(utterance),
      voice: (utterance, atMs) => this.#voice(utterance, atMs),
      voiced: (utterance, ms) => this.#grows(utterance, ms),
      heard: (utterance, _text, verdict) => this.#heard(utterance, verdict),
      early: (words) => this.#pauses(words),
      resumed: () => this.#resumed(),
      quiet: () => {},
      over: () => this.#isSilent(),
    });
  }

  #emit(event: TurnDetectorEvent): void {
    const { services, tell, send } = this.#options;
    tell(event);
    if (event.type !== 'transcript.final') return;
    services.metrics.voice.utterances.inc({ reason: event.reason });
    this.#told.clear();
    this.#ends(event.end_ms);
    const ignored: Ignored = event.ignored;
    if (event.text !== '' && ignored === null) return;
    // In `hearing` the silence that ends the person's turn still runs.
    if (this.#call.state !== 'hearing' || ignored === 'failed') send({ type: 'unsaid', ...this.#noted, ignored });
  }

  #voice(utterance: number, atMs: number): void {
    this.#options.begins();
    const { told, last, reply, state } = this.#call;
    const recent =
      last !== null && this.#options.services.clock.monotonic() - last.at <= afterReplyMs ? last.reply : null;
    this.#over.set(utterance, { reply: told ?? (awaited.has(state) ? reply : recent), told: told ?? recent });
    this.#over.delete(utterance - rememberedMax);
    this.utterance = { from: this.#timeOf(atMs), to: this.#now };
    this.#options.send({ type: 'voice', ...this.#noted });
  }

  #resumed(): void {
    this.#goesOn();
    this.#options.send({ type: 'voice', ...this.#noted });
  }

  /** The time, and the utterance that the event is about. */
  get #noted(): { readonly at: number; readonly utterance: Utterance | undefined } {
    return { at: this.#now, utterance: this.utterance };
  }

  /** When the audio at this position came. */
  #timeOf(ms: number): number {
    return Math.round(this.#now - Math.max(0, (this.#ear?.positionMs ?? ms) - ms));
  }

  /**
   * The voice of the utterance under way has ended at this position, as far as is known; a final may come late, of an
   * earlier one.
   */
  #ends(ms: number): void {
    const to = this.#timeOf(ms);
    if (this.utterance !== undefined && to >= this.utterance.from) this.utterance = { ...this.utterance, to };
  }

  #goesOn(): void {
    if (this.utterance !== undefined) this.utterance = { ...this.utterance, to: this.#now };
  }

  #replyOf(utterance: number): SpokenReply | null {
    const told = this.#over.get(utterance)?.told ?? null;
    return told && told.spoken(told !== this.#call.told);
  }

  #isOver(utterance: number): boolean {
    const over = this.#over.get(utterance)?.reply ?? null;
    return over !== null && over === this.#call.reply;
  }

  #grows(utterance: number, ms: number): void {
    this.lastVoiceAt = this.#options.services.clock.monotonic();
    this.#goesOn();
    if (!this.#isOver(utterance)) return;
    if (ms >= pausesAt) this.#once('voiced');
    const { context, settings } = this.#call;
    const partials = settings.partials && this.#options.ready.provider.partials;
    const counts =
      context.bargeIn === 'voice' ? ms >= cutsAt : context.bargeIn === 'words' && !partials && ms >= countsAt;
    if (counts) this.#once('words');
  }

  #once(type: 'voiced' | 'words'): void {
    if (this.#told.has(type)) return;
    this.#told.add(type);
    this.#options.send({ type, ...this.#noted });
  }

  #heard(utterance: number, verdict: Interruption): void {
    if (verdict === 'counts' && this.#isOver(utterance)) this.#options.send({ type: 'words', ...this.#noted });
  }

  #pauses(words: Words): void {
    const { state, settings } = this.#call;
    if (state !== 'hearing' || settings.clientEndsTurns || words.toMs - words.fromMs >= earlyMsMax) return;
    this.early = words;
    this.#ends(words.toMs);
    this.#options.send({ type: 'early', ...this.#noted });
  }

  /** The person has been silent for as long as ends a turn, or has said as much as a message may have. */
  #isSilent(): void {
    const waits = this.#call.settings.clientEndsTurns && this.#hand.text !== '' && !this.#hand.isFull;
    if (!waits) this.#turnIsOver();
  }

  /** The person's turn is over; returns whether with words. */
  #turnIsOver(): boolean {
    const { text } = this.#hand;
    if (text !== '') this.#options.send({ type: 'said', ...this.#noted, kept: this.#call.reply?.asked === text });
    else if (this.#call.state === 'hearing') this.#options.send({ type: 'unsaid', ...this.#noted, ignored: null });
    return text !== '';
  }
}
