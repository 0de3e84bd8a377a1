/** One open transcription socket: its messages, its pace, its deadline and its close (contract 8). */
import type { Socket, SocketListener } from '../base/edge.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { SocketEvent, SocketOutcome } from '../../machines/socket.ts';
import type { SocketActor } from '../host/sockets.ts';
import { jsonText } from '../base/json.ts';
import { limits } from '../base/limits.ts';
import type { Timer } from '../base/clock.ts';
import type { Services } from './services.ts';
import type { Session } from '../store/store.ts';
import { AudioIntake } from './audio-intake.ts';
import { EndPoller } from './end-poller.ts';
import { voiceCaller, type Principal } from './principal.ts';
import { keyOf } from './access-checks.ts';
import { closingBytes, endWith, fits, ours, parseMessage, refused, tooLarge } from './socket-messages.ts';
import type { Encoding } from '../base/audio-formats.ts';
import type { VoiceDetector } from '../providers/voice/voices.ts';
import type { ListenerEvent } from '../providers/voice/listener-events.ts';
import { Listener } from '../providers/voice/listener.ts';
import { shape, FinishMessage, FlushMessage, StartMessage } from '../wire/wire.ts';
import { failureOfVoice, transcriberOf, type ReadyVoice } from './voice-call.ts';
import { VoicePresence } from './voice-presence.ts';

export interface AudioSettings {
  readonly encoding: Encoding;
  readonly sampleRate: number;
  readonly language: string | null;
  readonly silenceMs: number;
  readonly partials: boolean;
}

/** Whether audio of this rate is understood; the packets of Opus have their own (contract 8). */
export const takesRate = ({ encoding, sampleRate }: Pick<AudioSettings, 'encoding' | 'sampleRate'>): boolean =>
  encoding === 'opus' || (sampleRate >= 8_000 && sampleRate <= 48_000);

export interface TranscriptionSocketOptions {
  /** The socket of an opened token. */
  readonly actor: SocketActor<SocketEvent, SocketOutcome>;
  readonly assistant: AssistantActor;
  readonly session: Session | null;
  /** The holder of its token. */
  readonly principal: Principal;
  readonly ready: ReadyVoice;
  readonly settings: AudioSettings;
  readonly requestId: string;
  readonly services: Services;
}

interface Hearing {
  readonly detector: VoiceDetector;
  readonly listener: Listener;
}

const messages = { start: shape(StartMessage), flush: shape(FlushMessage), finish: shape(FinishMessage) };

export class TranscriptionSocket implements SocketListener {
  readonly #options: TranscriptionSocketOptions;
  #settings: AudioSettings;
  #socket: Socket | null = null;
  /** Made for the first audio, with the settings before it. */
  #hearing: Hearing | null = null;
  readonly #intake: AudioIntake;
  readonly #endPoller: EndPoller;
  readonly #presence: VoicePresence;
  #timer: Timer | null = null;
  #over = false;
  /** The cause of a close between the answer to the upgrade and the opening: a drain, or its session's end. */
  #closedEarly: { readonly code: string | null; readonly close: number } | null = null;

  constructor(options: TranscriptionSocketOptions) {
    this.#options = options;
    this.#settings = options.settings;
    const { services, assistant, principal, session, requestId } = options;
    this.#presence = new VoicePresence({
      ...{ services, principal, session, requestId },
      speaks: () => options.actor.machine.state === 'speaking',
      refused: () => this.#fault('rate_limited', refused),
    });
    this.#intake = new AudioIntake({
      services,
      assistant: assistant.record,
      keyId: keyOf(principal),
      isCounted: true,
      take: (samples) => this.#listen(samples),
      received: (seconds) => this.#send({ type: 'audio.received', audio_ms: seconds * 1000 }),
      message: (data) => this.message(data),
      refused: (code) => this.#fault(code, refused),
      failed: (error) => this.#fail(error),
    });
    // No usage of a removed workspace is left to count the audio in.
    this.#endPoller = new EndPoller({ services, assistant, session, removed: () => this.#intake.leaveUncounted() });
    options.actor.onDecision = (outcomes) => {
      for (const outcome of outcomes) if (outcome.type === 'socket.closed') this.#close(outcome.code, outcome.close);
    };
  }

  opened(socket: Socket): void {
    if (this.#closedEarly !== null) return endWith(socket, this.#closedEarly.code, this.#closedEarly.close);
    this.#socket = socket;
    const { sampleRate, encoding, silenceMs } = this.#settings;
    this.#send({
      type: 'ready',
      sample_rate: sampleRate,
      encoding,
      silence_ms: silenceMs,
      expires_at: this.#options.session?.expiresAt ?? null,
    });
    this.#presence.look();
    this.#tick();
    // The process may have begun to end while the token was taken.
    if (this.#options.services.draining) this.#options.actor.send({ type: 'drain', at: this.#now });
  }

  message(data: string | Uint8Array): void {
    if (this.#over || this.#finishing) return;
    if (!this.#intake.keeps(data)) this.#take(data);
  }

  #take(data: string | Uint8Array): void {
    try {
      if (typeof data === 'string') this.#command(data);
      else if (data.length > 0) this.#audio(data);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Rejected like any text that is not a message. */
  unreadable(): void {
    this.message('');
  }

  tooLarge(): boolean {
    if (this.#finishing) return true;
    this.#fault('invalid_request', tooLarge);
    return false;
  }

  tooFast(): boolean {
    if (!this.#finishing) this.#invalid();
    return this.#finishing;
  }

  closed(): void {
    if (!this.#options.actor.closed) this.#options.actor.send({ type: 'leave', at: this.#now });
    this.#end();
  }

  get #now(): number {
    return this.#options.services.clock.now();
  }

  get #finishing(): boolean {
    return this.#options.actor.machine.state === 'finishing';
  }

  #command(text: string): void {
    const message = parseMessage(text);
    if (message?.type === 'start') this.#start(message);
    else if (message?.type === 'flush' && fits(messages.flush, message)) this.#hearing?.listener.flush();
    else if (message?.type === 'finish' && fits(messages.finish, message)) this.#finish();
    else this.#invalid();
  }

  #start(message: object): void {
    const start = fits(messages.start, message);
    if (start === null || this.#hearing !== null) return this.#invalid();
    const { language } = start;
    if (language !== undefined && !this.#options.ready.provider.takesLanguage(language)) return this.#invalid();
    const before = this.#settings;
    const settings = {
      encoding: start.encoding ?? before.encoding,
      sampleRate: start.sample_rate ?? before.sampleRate,
      language: language ?? before.language,
      silenceMs: start.silence_ms ?? before.silenceMs,
      partials: start.partials ?? before.partials,
    };
    if (!takesRate(settings)) return this.#invalid();
    this.#settings = settings;
  }

  #audio(frame: Uint8Array): void {
    this.#hearing ??= this.#hear();
    this.#intake.push(frame, this.#settings);
  }

  #listen(samples: Int16Array): void {
    const { listener } = this.#hearing!;
    listener.push(samples);
    if (listener.backlogMs > limits.socketBacklogMs)
      this.#fail(new Error('The speech recognisers cannot keep up with the audio.'));
  }

  #hear(): Hearing {
    const { services, ready, assistant, principal } = this.#options;
    const caller = voiceCaller(principal, this.#now);
    const { language, silenceMs, partials } = this.#settings;
    const detector = services.voice.detector();
    const listener = new Listener({
      silenceMs,
      partials,
      repeats: ready.provider.partials,
      detect: (samples) => detector.chances(samples),
      transcribe: transcriberOf(ready, caller, language),
      stretch: () => services.voice.loadShedding.stretchFor(caller),
      begins: () => this.#begins(assistant),
      ends: () => void this.#options.actor.send({ type: 'silence', at: this.#now }),
      emit: (event) => this.#emit(event),
      failed: (error) => this.#fail(error),
    });
    return { detector, listener };
  }

  /** Speech begins: from here on the assistant's state counts as it is now. */
  async #begins({ record }: AssistantActor): Promise<boolean> {
    const { host } = this.#options.services;
    if (!(await this.#presence.begins())) return false;
    const now = await host.assistants.of(record.workspaceId, record.id);
    const refusal = now === null ? 'assistant_not_published' : host.assistants.voiceRefusal(now);
    if (this.#over) return false;
    this.#options.actor.send({ type: 'speech', at: this.#now, refusal });
    return !this.#over;
  }

  #emit(event: ListenerEvent): void {
    if (this.#over) return;
    // A reader that is behind loses partials first.
    if (event.type === 'transcript.partial' && this.#waitingBytes > limits.socketPartialBytesMax) return;
    if (event.type === 'transcript.final')
      this.#options.services.metrics.voice.utterances.inc({ reason: event.reason });
    this.#send(event);
  }

  #finish(): void {
    this.#options.actor.send({ type: 'finish', at: this.#now });
    const hearing = this.#hearing;
    const finished = hearing === null ? Promise.resolve() : this.#finishHearing(hearing.listener);
    const done = (): void => {
      if (this.#over) return;
      this.#send({ type: 'done', audio_ms: Math.floor(this.#intake.takenMs) });
      this.#options.actor.send({ type: 'done', at: this.#now });
    };
    // A final that fails closes the socket, which the listener reports.
    finished.then(done).catch((error) => this.#fail(error));
  }

  #finishHearing(listener: Listener): Promise<void> {
    listener.push(this.#intake.rest());
    return listener.finish();
  }

  get #waitingBytes(): number {
    return this.#socket?.bufferedBytes ?? 0;
  }

  #send(message: object): void {
    if (this.#socket === null || this.#over) return;
    const text = jsonText(message);
    // The closing error must still fit.
    if (this.#waitingBytes + text.length > limits.socketWaitingBytesMax - closingBytes)
      return this.#fault('rate_limited', refused);
    this.#socket.send(text);
  }

  #invalid(): void {
    this.#fault('invalid_request', refused);
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    const { services, requestId, assistant } = this.#options;
    services.log.warn(
      { request_id: requestId, assistant_id: assistant.record.id, err: error },
      'Transcription failed.',
    );
    this.#fault(failureOfVoice(error).code, ours);
  }

  #fault(code: string, close: number): void {
    this.#options.actor.send({ type: 'fault', at: this.#now, code, close });
  }

  /** `code`: of the error that is sent before, if one is. */
  #close(code: string | null, close: number): void {
    if (this.#over) return;
    const socket = this.#socket;
    this.#end();
    if (socket === null) this.#closedEarly = { code, close };
    else endWith(socket, code, close);
  }

  /** Counts the audio, and frees the socket's resources. */
  #end(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#presence.close();
    this.#intake.close();
    this.#hearing?.listener.close();
    this.#hearing?.detector.close();
    this.#hearing = null;
    this.#socket = null;
  }

  get #overdue(): boolean {
    const { session } = this.#options;
    return session !== null && this.#now >= session.expiresAt * 1000;
  }

  #tick(): void {
    const { clock } = this.#options.services;
    this.#timer = clock.after(limits.socketPollMs, () => {
      const now = clock.monotonic();
      this.#intake.countWhenDue();
      if (this.#overdue) this.#options.actor.send({ type: 'tick', at: this.#now });
      if (!this.#over) void this.#pollEnd(now);
      if (!this.#over) this.#presence.look();
      if (!this.#over) this.#tick();
    });
  }

  /** Closes the socket if its workspace or session has ended. */
  async #pollEnd(now: number): Promise<void> {
    if (await this.#endPoller.hasEnded(now)) this.#options.actor.send({ type: 'session.ended', at: this.#now });
  }
}
