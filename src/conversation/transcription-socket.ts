/** One open transcription socket: its messages, its pace, its deadline and its close (contract 8). */
import type { Socket, SocketListener } from '../edge.ts';
import { errors, type ErrorName } from '../errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { SocketActor } from '../host/sockets.ts';
import { limits } from '../limits.ts';
import type { Timer } from '../clock.ts';
import type { Services } from '../services.ts';
import type { Session } from '../store.ts';
import { sessionView } from '../views.ts';
import { audioDecoder, type AudioDecoder } from '../voice/audio/decoding.ts';
import type { Encoding } from '../voice/audio/formats.ts';
import { UnreadableAudio } from '../voice/audio/unreadable.ts';
import type { VoiceDetector } from '../voice/desk.ts';
import { Listener, type ListenerEvent } from '../voice/listener.ts';
import { shape, FinishMessage, FlushMessage, StartMessage } from '../wire.ts';
import { AudioPace } from './audio-pace.ts';
import { failureOfVoice, type ReadyVoice } from './voice-call.ts';
import { countVoice } from './voice-usage.ts';

export interface AudioSettings {
  readonly encoding: Encoding;
  readonly sampleRate: number;
  readonly language: string | null;
  readonly silenceMs: number;
  readonly partials: boolean;
}

/** Whether audio of this rate is understood; the packets of Opus have their own (contract 8). */
export const takesRate = ({ encoding, sampleRate }: Pick<AudioSettings, 'encoding' | 'sampleRate'>): boolean => encoding === 'opus' || (sampleRate >= 8_000 && sampleRate <= 48_000);

export interface TranscriptionSocketOptions {
  /** Opened already. */
  readonly actor: SocketActor;
  readonly assistant: AssistantActor;
  readonly session: Session | null;
  /** The API key that its token was made for; null if none was. */
  readonly keyId: string | null;
  readonly ready: ReadyVoice;
  readonly settings: AudioSettings;
  readonly requestId: string;
  readonly services: Services;
}

interface Hearing {
  readonly decoder: Promise<AudioDecoder>;
  readonly detector: VoiceDetector;
  readonly listener: Listener;
}

const messages = { start: shape(StartMessage), flush: shape(FlushMessage), finish: shape(FinishMessage) };

const [refused, tooLarge, ours, restart] = [1008, 1009, 1011, 1012];

export class TranscriptionSocket implements SocketListener {
  readonly #options: TranscriptionSocketOptions;
  #settings: AudioSettings;
  #socket: Socket | null = null;
  /** Made for the first audio: what was set before it counts. */
  #hearing: Hearing | null = null;
  #decoder: AudioDecoder | null = null;
  /** Messages are taken in order, though a decoder may have to be loaded first; null while none waits. */
  #inputs: Promise<void> | null = null;
  readonly #pace: AudioPace;
  /** Milliseconds of audio taken; what the pace refuses is not among them. */
  #takenMs = 0;
  #secondsReported = 0;
  #secondsCounted = 0;
  #countedAt: number;
  #lookedAt: number;
  #timer: Timer | null = null;
  #over = false;
  /** What closed it between the answer to the upgrade and the opening: a drain, or its session's end. */
  #closedEarly: { readonly code: string | null; readonly close: number } | null = null;

  constructor(options: TranscriptionSocketOptions) {
    const { clock } = options.services;
    this.#options = options;
    this.#settings = options.settings;
    this.#pace = new AudioPace(clock);
    this.#countedAt = this.#lookedAt = clock.monotonic();
    options.actor.onClosed = ({ code, close }) => this.#close(code, close);
  }

  opened(socket: Socket): void {
    if (this.#closedEarly !== null) return endWith(socket, this.#closedEarly.code, this.#closedEarly.close);
    this.#socket = socket;
    const { sampleRate, encoding, silenceMs } = this.#settings;
    this.#send({ type: 'ready', sample_rate: sampleRate, encoding, silence_ms: silenceMs, expires_at: this.#options.session?.expiresAt ?? null });
    this.#tick();
    // The process may have begun to end while the token was taken.
    if (this.#options.services.draining) this.#options.actor.send({ type: 'drain', at: this.#now });
  }

  message(data: string | Uint8Array): void {
    if (this.#over || this.#finishing) return;
    if (this.#inputs === null) {
      try {
        this.#wait(this.#take(data));
      } catch (error) {
        this.#failed(error);
      }
    } else this.#wait(this.#inputs.then(() => (this.#over || this.#finishing ? undefined : this.#take(data))));
  }

  /** Later messages wait for the input, if it is not taken yet. */
  #wait(input: void | Promise<void>): void {
    if (input === undefined) return;
    const taken = input.catch((error) => this.#failed(error)).then(() => {
      if (this.#inputs === taken) this.#inputs = null;
    });
    this.#inputs = taken;
  }

  #take(data: string | Uint8Array): void | Promise<void> {
    return typeof data === 'string' ? this.#command(data) : this.#audio(data);
  }

  /** Wrong like any other text that is no message. */
  unreadable(): void {
    this.message('');
  }

  tooLarge(): boolean {
    if (this.#finishing) return true;
    this.#fault('invalid_request', tooLarge);
    return false;
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
    const message = parsed(text);
    if (message?.type === 'start') this.#start(message);
    else if (message?.type === 'flush' && fits('flush', message)) this.#hearing?.listener.flush();
    else if (message?.type === 'finish' && fits('finish', message)) this.#finish();
    else this.#invalid();
  }

  #start(message: object): void {
    const start = fits('start', message) as StartMessage | null;
    if (start === null || this.#hearing !== null) return this.#invalid();
    const { language } = start;
    if (language !== undefined && !this.#options.ready.provider.takesLanguage(language)) return this.#invalid();
    const before = this.#settings;
    const settings = {
      encoding: (start.encoding as Encoding | undefined) ?? before.encoding,
      sampleRate: start.sample_rate ?? before.sampleRate,
      language: language ?? before.language,
      silenceMs: start.silence_ms ?? before.silenceMs,
      partials: start.partials ?? before.partials,
    };
    if (!takesRate(settings)) return this.#invalid();
    this.#settings = settings;
  }

  #audio(frame: Uint8Array): void | Promise<void> {
    if (frame.length === 0) return;
    const { listener, decoder } = (this.#hearing ??= this.#hear());
    if (this.#decoder !== null) return this.#decode(frame, this.#decoder, listener);
    return decoder.then((opened) => {
      if (this.#over) return opened.close();
      this.#decoder = opened;
      this.#decode(frame, opened, listener);
    });
  }

  #decode(frame: Uint8Array, decoder: AudioDecoder, listener: Listener): void {
    const before = decoder.sourceSamples;
    let samples: Int16Array;
    try {
      samples = decoder.push(frame);
    } catch (error) {
      if (error instanceof UnreadableAudio) return this.#invalid();
      throw error;
    }
    if (!this.#pace.take(((decoder.sourceSamples - before) * 1000) / decoder.sourceRate)) return this.#fault('rate_limited', refused);
    this.#takenMs = (decoder.sourceSamples * 1000) / decoder.sourceRate;
    listener.push(samples);
    const seconds = Math.floor(this.#takenMs / 1000);
    if (seconds > this.#secondsReported) {
      this.#secondsReported = seconds;
      this.#send({ type: 'audio.received', audio_ms: seconds * 1000 });
    }
    if (listener.backlogMs > limits.socketBacklogMs) this.#failed(new Error('No detector takes the audio.'));
  }

  #hear(): Hearing {
    const { services, ready, assistant } = this.#options;
    const { provider, settings, access } = ready;
    const { language, silenceMs, partials } = this.#settings;
    const detector = services.voice.detector();
    const listener = new Listener({
      silenceMs,
      partials,
      repeats: provider.partials,
      detect: (samples) => detector.chances(samples),
      transcribe: (samples, utterance, urgency, signal) =>
        provider.transcribe({ samples, index: utterance.number - 1, draft: utterance.draft, name: settings.transcriptionName ?? null, language, urgency, access, signal }),
      stretch: () => services.voice.ladder.stretch(),
      begins: () => this.#begins(assistant),
      ends: () => void this.#options.actor.send({ type: 'silence', at: this.#now }),
      emit: (event) => this.#emit(event),
      failed: (error) => this.#failed(error),
    });
    return { decoder: audioDecoder(this.#settings), detector, listener };
  }

  /** Speech begins: from here on the assistant's state counts as it is now. */
  async #begins({ record }: AssistantActor): Promise<boolean> {
    const { host } = this.#options.services;
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
    if (event.type === 'transcript.final') this.#options.services.metrics.voice.utterances.inc({ reason: event.reason });
    this.#send(event);
  }

  #finish(): void {
    this.#options.actor.send({ type: 'finish', at: this.#now });
    const hearing = this.#hearing;
    const finished = hearing === null ? Promise.resolve() : this.#finishHearing(hearing.listener);
    const done = (): void => {
      if (this.#over) return;
      this.#send({ type: 'done', audio_ms: Math.floor(this.#takenMs) });
      this.#options.actor.send({ type: 'done', at: this.#now });
    };
    // A final that fails closes the socket, which the listener reports.
    finished.then(done).catch((error) => this.#failed(error));
  }

  #finishHearing(listener: Listener): Promise<void> {
    listener.push(this.#decoder?.end() ?? new Int16Array(0));
    return listener.finish();
  }

  get #waitingBytes(): number {
    return this.#socket?.bufferedBytes ?? 0;
  }

  #send(message: object): void {
    if (this.#socket === null || this.#over) return;
    const text = JSON.stringify(message);
    // The closing error must still fit.
    if (this.#waitingBytes + text.length > limits.socketWaitingBytesMax - closingBytes) return this.#fault('rate_limited', refused);
    this.#socket.send(text);
  }

  #invalid(): void {
    this.#fault('invalid_request', refused);
  }

  #failed(error: unknown): void {
    if (this.#over) return;
    const { services, requestId, assistant } = this.#options;
    services.log.warn({ request_id: requestId, assistant_id: assistant.record.id, err: error }, 'transcription failed');
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

  /** Counts what was heard, and gives back what the socket holds. */
  #end(): void {
    this.#over = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#count();
    this.#hearing?.listener.close();
    this.#hearing?.detector.close();
    this.#decoder?.close();
    this.#hearing = null;
    this.#socket = null;
  }

  #count(): void {
    const seconds = Math.floor(this.#takenMs / 1000) - this.#secondsCounted;
    this.#countedAt = this.#options.services.clock.monotonic();
    if (seconds <= 0) return;
    this.#secondsCounted += seconds;
    const { assistant, keyId } = this.#options;
    void countVoice(assistant.record, keyId, { transcriptionSeconds: seconds }, this.#options.services);
  }

  get #overdue(): boolean {
    const { session } = this.#options;
    return session !== null && this.#now >= session.expiresAt * 1000;
  }

  #tick(): void {
    const { clock } = this.#options.services;
    this.#timer = clock.after(limits.socketPollMs, () => {
      const now = clock.monotonic();
      if (now - this.#countedAt >= limits.socketUsageMs) this.#count();
      if (this.#overdue) this.#options.actor.send({ type: 'tick', at: this.#now });
      if (!this.#over) void this.#lookAtSession(now);
      if (!this.#over) this.#tick();
    });
  }

  /** Whether the session has ended since: in this process at once, in another one within a second. */
  async #lookAtSession(now: number): Promise<void> {
    const { session, services } = this.#options;
    const { host, store, clock } = services;
    if (session === null || (store.leaseMs !== null && now - this.#lookedAt < limits.catalogFreshMs)) return;
    this.#lookedAt = now;
    const found = await Promise.resolve(host.sessions.read(session.workspaceId, session.id)).catch(() => session);
    if (this.#over) return;
    if (found === null || sessionView(found, clock.now()).status === 'ended') this.#options.actor.send({ type: 'session.ended', at: this.#now });
  }
}

/** Room that is kept for the error before the close. */
const closingBytes = 1024;

interface Message {
  readonly type?: unknown;
}

function parsed(text: string): Message | null {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? json : null;
  } catch {
    return null;
  }
}

/** The message if it has the shape of its type, else null. */
function fits(type: keyof typeof messages, message: object): object | null {
  try {
    return messages[type].parse(message);
  } catch {
    return null;
  }
}

/** Sentences of their own; other codes have that of the table of errors. */
const sentences: Readonly<Record<string, string>> = {
  invalid_request: 'The message could not be read, or is not allowed here.',
  rate_limited: 'The audio comes faster than it is spoken, or what is sent is not read.',
};

/** `code`: of the error that is sent before, if one is. */
function endWith(socket: Socket, code: string | null, close: number): void {
  if (code !== null) socket.send(JSON.stringify({ type: 'error', code, message: sentenceFor(code, close) }));
  socket.close(close);
}

function sentenceFor(code: string, close: number): string {
  if (close === tooLarge) return `The message is larger than ${limits.socketMessageBytesMax} bytes.`;
  if (close === restart) return 'The server is restarting.';
  // The rows of the other codes have them for their names.
  return sentences[code] ?? (code in errors ? errors[code as ErrorName] : errors.api_error).message;
}
