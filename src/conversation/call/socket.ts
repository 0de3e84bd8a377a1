/** The socket of a call: its messages, its pace and its close (contract 8 and 18). */
import type { Socket, SocketListener } from '../../base/edge.ts';
import { jsonText } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { CallMessages, shape, type CallMessage } from '../../wire/wire.ts';
import type { AudioIntake } from '../audio-intake.ts';
import { endWith, fits, parseMessage, refused, tooLarge, type ClientMessage } from '../socket-messages.ts';
import { takesRate } from '../transcription-socket.ts';
import { Call, type CallOptions, type CallWire } from './call.ts';
import { PlayedReports } from './played-reports.ts';
import { withStart, type CallSettings } from './settings.ts';
import { callIntake, isFree, sendText, taking } from './wire.ts';

export type CallSocketOptions = Omit<CallOptions, 'wire'>;

const messages = {
  start: shape(CallMessages.start),
  played: shape(CallMessages.played),
  interrupt: shape(CallMessages.interrupt),
  flush: shape(CallMessages.flush),
  message: shape(CallMessages.message),
  hangup: shape(CallMessages.hangup),
};

/** Characters of a report; a longer text always has the pace of text messages. */
const reportCharactersMax = 1_024;

/** Returns the report of played samples in a text; null for any other text. */
function reportIn(text: string): { readonly message_id: string; readonly samples: number } | null {
  const message = text.length > reportCharactersMax ? null : parseMessage(text);
  return message?.type === 'played' ? fits(messages.played, message) : null;
}

export class CallSocket implements SocketListener {
  readonly #options: CallSocketOptions;
  readonly #intake: AudioIntake;
  readonly #call: Call;
  readonly #reports: PlayedReports;
  #socket: Socket | null = null;
  /** Whether the client or the call has ended it: later messages are ignored. */
  #isOver = false;

  constructor(options: CallSocketOptions, settings: CallSettings) {
    this.#options = options;
    this.#intake = callIntake(options, () => this.#call, {
      received: (seconds) => this.#send({ type: 'audio.received', audio_ms: seconds * 1000 }),
      message: (data) => this.message(data),
    });
    const wire: CallWire = {
      send: (message) => this.#send(message),
      sendAudio: (frame) => this.#sendAudio(frame),
      isFree: () => isFree(this.#socket),
      intake: this.#intake,
      end: (code, close) => this.#end(code, close),
    };
    const call = (this.#call = new Call({ ...options, wire }, settings));
    this.#reports = new PlayedReports({
      clock: options.services.clock,
      knows: (id) => call.knows(id),
      take: (id, samples) => call.played(id, samples),
    });
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    const { actor, session } = this.#options;
    const { sampleRate, encoding, outputSampleRate, outputEncoding, turnSilenceMs, aheadMs, bargeIn } =
      this.#call.settings;
    this.#send({
      ...{
        type: 'ready',
        call_id: actor.identity.id,
        session_id: session.id,
        sample_rate: sampleRate,
        encoding,
        output_sample_rate: outputSampleRate,
        output_encoding: outputEncoding,
      },
      ...{ turn_silence_ms: turnSilenceMs, ahead_ms: aheadMs, barge_in: bargeIn, expires_at: session.expiresAt },
    });
    this.#call.open();
  }

  message(data: string | Uint8Array): void {
    if (this.#isOver || this.#options.actor.closed) return;
    const report = typeof data === 'string' ? reportIn(data) : null;
    if (report !== null)
      return taking(this.#call, this.#options, () => this.#reports.add(report.message_id, report.samples));
    if (typeof data === 'string') this.#reports.flush();
    if (this.#intake.keeps(data)) return;
    taking(this.#call, this.#options, () => {
      if (typeof data === 'string') this.#command(parseMessage(data));
      else if (data.length > 0) this.#intake.push(data, this.#call.settings);
    });
  }

  /** Reports of played samples have another pace, which closes nothing. */
  isPaced(text: string): boolean {
    return reportIn(text) === null;
  }

  /** Refuses it as any other text that is not a message. */
  unreadable(): void {
    this.message('');
  }

  /** The call closes the socket, once its turn is sealed and the error is sent. */
  tooLarge(): boolean {
    return this.#refuse(tooLarge);
  }

  tooFast(): boolean {
    return this.#refuse(refused);
  }

  closed(): void {
    if (!this.#isOver) this.#reports.flush();
    this.#isOver = true;
    this.#socket = null;
    this.#call.left();
    this.#intake.close();
  }

  #command(message: ClientMessage | null): void {
    if (message === null) return this.#call.fault('invalid_request', refused);
    const { type } = message;
    if (type === 'start') return this.#start(message);
    const played = type === 'played' ? fits(messages.played, message) : null;
    if (played !== null) return this.#reports.add(played.message_id, played.samples);
    const written = type === 'message' ? fits(messages.message, message) : null;
    if (written !== null) return this.#call.message(written.text);
    if (type === 'interrupt' && fits(messages.interrupt, message)) return this.#call.interrupt();
    if (type === 'flush' && fits(messages.flush, message)) return void this.#call.speech.flush();
    if (type === 'hangup' && fits(messages.hangup, message)) return this.#hangup();
    this.#call.fault('invalid_request', refused);
  }

  #refuse(close: number): true {
    if (this.#isOver) return true;
    this.#reports.flush();
    this.#call.fault('invalid_request', close);
    return true;
  }

  #start(message: object): void {
    const start = this.#call.speech.listens ? null : fits(messages.start, message);
    const settings = start && withStart(this.#call.settings, start);
    const { provider } = this.#options.ready;
    const isTaken = start?.language === undefined || provider.takesLanguage(start.language);
    if (settings === null || !takesRate(settings) || !isTaken) return this.#call.fault('invalid_request', refused);
    this.#call.configure(settings);
  }

  #hangup(): void {
    this.#isOver = true;
    this.#call.hangup();
  }

  #send(message: CallMessage): void {
    const socket = this.#socket;
    if (socket === null) return;
    if (message.type === 'transcript.partial' && socket.bufferedBytes > limits.socketPartialBytesMax) return;
    sendText(socket, jsonText(message), this.#call);
  }

  #sendAudio(frame: Uint8Array): void {
    this.#socket?.send(frame);
  }

  #end(code: string | null, close: number): void {
    const socket = this.#socket;
    this.#isOver = true;
    this.#socket = null;
    this.#reports.close();
    this.#intake.close();
    if (socket !== null) endWith(socket, code, close);
  }
}
