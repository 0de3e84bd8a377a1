/** Speech input of a call: reports the person's voice, their words and the end of their turn to the machine (contract 18). */
import type { Ignored, Utterance } from '../../../machines/call.ts';
import { limits } from '../../base/limits.ts';
import type { Interruption, SpokenReply } from '../../providers/voice/interruption.ts';
import type { TurnDetector, TurnDetectorEvent } from '../../providers/voice/turn-detector.ts';
import { PendingTranscript, type Words } from '../../providers/voice/pending-transcript.ts';
import { transcriberOf } from '../voice-call.ts';
import type { CallPort } from './port.ts';
import type { Reply } from './reply.ts';

/** The call as its speech input sees it. */
export interface SpeechPort extends Pick<
  CallPort,
  'services' | 'ready' | 'settings' | 'now' | 'state' | 'context' | 'send' | 'tell'
> {
  /** The open reply, if the client knows it. */
  readonly told: Reply | null;
  /** The open reply, which may be asked for early. */
  readonly reply: Reply | null;
  /** The reply that the client knew last, and the monotonic milliseconds of its end. */
  readonly last: { readonly reply: Reply; readonly at: number } | null;
}

export interface SpeechInputOptions {
  readonly port: SpeechPort;
  /** The call's identity among those that share the voice processes. */
  readonly caller: string;
  /** An utterance begins. */
  begins(): void;
  failed(error: unknown): void;
}

/**
 * Milliseconds of voice over a reply that pause it, cut it in the mode `voice`, and count as words without partial
 * transcripts.
 */
const [pausesAt, cutsAt, countsAt] = [200, 500, 1_000];
/** Milliseconds of the person's turn up to which the model is asked early. */
const earlyMsMax = 10_000;
/** Milliseconds after a reply within which an utterance may still belong to it. */
const afterReplyMs = 500;
/** The states in which the person's turn has ended, and the client may not know the reply. */
const awaited: ReadonlySet<string> = new Set(['thinking', 'held']);
/** Utterances whose replies are remembered. */
const rememberedMax = 8;

export class SpeechInput {
  readonly #options: SpeechInputOptions;
  readonly #pending = new PendingTranscript();
  #detector: TurnDetector | null = null;
  /** Words for an early request to the model. */
  early: Words | null = null;
  /** Monotonic milliseconds of the last voice. */
  lastVoiceAt: number | null = null;
  /** The utterance under way, or the last one. */
  utterance: Utterance | undefined;
  /**
   * Replies by utterance: `reply` is held or cut by it, `told` is the reply that it may echo or acknowledge. The client
   * knows `told`.
   */
  readonly #over = new Map<number, { readonly reply: Reply | null; readonly told: Reply | null }>();
  /** Events that the utterance under way has sent. */
  readonly #sent = new Set<'voiced' | 'words'>();

  constructor(options: SpeechInputOptions) {
    this.#options = options;
  }

  /** Whether audio has come: the settings are fixed from then on. */
  get listens(): boolean {
    return this.#detector !== null;
  }

  /** Whether a voice is heard, or a final transcript is to come. */
  get busy(): boolean {
    return this.#detector?.busy ?? false;
  }

  /** Audio of 16 kHz. */
  listen(samples: Int16Array): void {
    const detector = (this.#detector ??= this.#open());
    detector.push(samples);
    if (detector.backlogMs > limits.socketBacklogMs) this.#options.failed(new Error('No detector takes the audio.'));
  }

  /** Ends the person's turn with the words so far; returns false without words. */
  async flush(): Promise<boolean> {
    await this.#detector?.flush();
    return this.#turnIsOver();
  }

  /** Ends the utterance: its words are kept, and the turn continues. */
  async endUtterance(): Promise<void> {
    await this.#detector?.flush();
  }

  /** Drops the utterance under way and audio that was not decoded. */
  async clear(): Promise<void> {
    await this.#detector?.clear();
    if (this.#port.state === 'hearing' && !this.busy)
      this.#port.send({ type: 'unsaid', ...this.#noted, ignored: null });
  }

  /** Takes the pending words, also of the utterance under way, with a typed text; `spoken`: the words without it. */
  async takeWith(typed: string): Promise<{ readonly words: Words | null; readonly spoken: Words | null }> {
    if (this.busy) await this.#detector!.flush();
    const spoken = this.#pending.whole;
    this.#pending.type(typed);
    return { words: this.#pending.take(), spoken };
  }

  /** Drops a typed text that was refused: the words before it stay. */
  untype(): void {
    this.#pending.untype();
  }

  /** Begins the next turn with words that did not fit into the message that was answered, unless the person speaks. */
  goOn(): void {
    if (this.#pending.isLeftOver && !this.busy) this.#turnIsOver();
  }

  take(): Words | null {
    return this.#pending.take();
  }

  putBack(words: Words): void {
    this.#pending.putBack(words);
  }

  deafen(deaf: boolean): void {
    this.#detector?.deafen(deaf);
  }

  close(): void {
    this.#detector?.close();
  }

  get #port(): SpeechPort {
    return this.#options.port;
  }

  get #now(): number {
    return this.#port.now;
  }

  #open(): TurnDetector {
    const { caller, failed } = this.#options;
    const { services, ready, settings } = this.#port;
    const { turnSilenceMs, partials, language } = settings;
    return services.voice.turnDetector(caller, {
      ...{ turnSilenceMs, partials, failed, pending: this.#pending },
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
    const { services } = this.#port;
    this.#port.tell(event);
    if (event.type !== 'transcript.final') return;
    services.metrics.voice.utterances.inc({ reason: event.reason });
    this.#sent.clear();
    this.#ends(event.end_ms);
    const ignored: Ignored = event.ignored;
    if (event.text !== '' && ignored === null) return;
    // The silence that ends the person's turn still runs in `hearing`.
    if (this.#port.state !== 'hearing' || ignored === 'failed')
      this.#port.send({ type: 'unsaid', ...this.#noted, ignored });
  }

  #voice(utterance: number, atMs: number): void {
    this.#options.begins();
    const { told, last, reply, state } = this.#port;
    const recent = last !== null && this.#port.services.clock.monotonic() - last.at <= afterReplyMs ? last.reply : null;
    this.#over.set(utterance, { reply: told ?? (awaited.has(state) ? reply : recent), told: told ?? recent });
    this.#over.delete(utterance - rememberedMax);
    this.utterance = { from: this.#timeOf(atMs), to: this.#now };
    this.#port.send({ type: 'voice', ...this.#noted });
  }

  #resumed(): void {
    this.#continues();
    this.#port.send({ type: 'voice', ...this.#noted });
  }

  /** The time, and the utterance that the event is about. */
  get #noted(): { readonly at: number; readonly utterance: Utterance | undefined } {
    return { at: this.#now, utterance: this.utterance };
  }

  /** When the audio at this position came. */
  #timeOf(ms: number): number {
    return Math.round(this.#now - Math.max(0, (this.#detector?.positionMs ?? ms) - ms));
  }

  /** Notes the end of the utterance's voice. A late final of an earlier utterance changes nothing. */
  #ends(ms: number): void {
    const to = this.#timeOf(ms);
    if (this.utterance !== undefined && to >= this.utterance.from) this.utterance = { ...this.utterance, to };
  }

  #continues(): void {
    if (this.utterance !== undefined) this.utterance = { ...this.utterance, to: this.#now };
  }

  #replyOf(utterance: number): SpokenReply | null {
    const told = this.#over.get(utterance)?.told ?? null;
    return told && told.transcript.spoken(told !== this.#port.told);
  }

  #isOver(utterance: number): boolean {
    const over = this.#over.get(utterance)?.reply ?? null;
    return over !== null && over === this.#port.reply;
  }

  #grows(utterance: number, ms: number): void {
    this.lastVoiceAt = this.#port.services.clock.monotonic();
    this.#continues();
    if (!this.#isOver(utterance)) return;
    if (ms >= pausesAt) this.#once('voiced');
    const { context, settings } = this.#port;
    const partials = settings.partials && this.#port.ready.provider.partials;
    const counts =
      context.bargeIn === 'voice' ? ms >= cutsAt : context.bargeIn === 'words' && !partials && ms >= countsAt;
    if (counts) this.#once('words');
  }

  #once(type: 'voiced' | 'words'): void {
    if (this.#sent.has(type)) return;
    this.#sent.add(type);
    this.#port.send({ type, ...this.#noted });
  }

  #heard(utterance: number, verdict: Interruption): void {
    if (verdict === 'counts' && this.#isOver(utterance)) this.#port.send({ type: 'words', ...this.#noted });
  }

  #pauses(words: Words): void {
    const { state, settings } = this.#port;
    if (state !== 'hearing' || settings.clientEndsTurns || words.toMs - words.fromMs >= earlyMsMax) return;
    this.early = words;
    this.#ends(words.toMs);
    this.#port.send({ type: 'early', ...this.#noted });
  }

  /** The silence that ends a turn has passed, or the words fill a message. */
  #isSilent(): void {
    const waits = this.#port.settings.clientEndsTurns && this.#pending.text !== '' && !this.#pending.isFull;
    if (!waits) this.#turnIsOver();
  }

  /** Ends the person's turn; returns whether it has words. */
  #turnIsOver(): boolean {
    const { text } = this.#pending;
    if (text !== '') this.#port.send({ type: 'said', ...this.#noted, kept: this.#port.reply?.asked === text });
    else if (this.#port.state === 'hearing') this.#port.send({ type: 'unsaid', ...this.#noted, ignored: null });
    return text !== '';
  }
}
