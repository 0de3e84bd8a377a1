/** Socket of an OpenAI Realtime client: the call of `call/socket.ts` in that API's events (contract 18). */
import type { Socket, SocketListener } from '../../base/edge.ts';
import { Failure } from '../../base/errors.ts';
import { jsonText, parseObject } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { greetingFor } from '../../assistant/texts.ts';
import { codePoints } from '../../base/text.ts';
import { TokenBucket } from '../../base/token-bucket.ts';
import { betaFieldOf, RealtimeEvents, shape, type RealtimeUpdate } from '../../wire/wire.ts';
import type { AudioIntake } from '../audio-intake.ts';
import { Call, type CallOptions, type CallWire } from '../call/call.ts';
import { callIntake, isFree, sendText, taking } from '../call/wire.ts';
import { fits, refused, sentenceFor, tooLarge } from '../socket-messages.ts';
import { realtimeDefaults, sessionView, withUpdate, type RealtimeSettings } from './session.ts';
import { RealtimeEventMapper, type RealtimeEvent } from './event-mapper.ts';

export interface RealtimeSocketOptions extends Omit<CallOptions, 'wire'> {
  /** Name that the client used. */
  readonly model: string;
  /** Whether the client asked for the beta of the API. */
  readonly isBeta: boolean;
}

type Name = keyof typeof RealtimeEvents;

const shapes = Object.fromEntries(Object.entries(RealtimeEvents).map(([name, schema]) => [name, shape(schema)])) as {
  readonly [N in Name]: ReturnType<typeof shape<(typeof RealtimeEvents)[N]>>;
};

interface ClientEvent {
  readonly type?: unknown;
  readonly event_id?: unknown;
  readonly [field: string]: unknown;
}

const betaSentence = (field: string): string =>
  `The ${field} is one of the beta of the Realtime API, which is not spoken here.`;

/** Returns the event; throws the `Failure` that names the first wrong field. */
const read = <N extends Name>(name: N, event: ClientEvent) => shapes[name].parse(event);

export class RealtimeSocket implements SocketListener {
  readonly #options: RealtimeSocketOptions;
  readonly #intake: AudioIntake;
  readonly #call: Call;
  readonly #mapper: RealtimeEventMapper;
  readonly #pace: TokenBucket;
  #settings: RealtimeSettings = realtimeDefaults;
  #socket: Socket | null = null;
  #sent = 0;
  #made = 0;
  /** Texts that wait for `response.create`. */
  #written: string[] = [];

  constructor(options: RealtimeSocketOptions) {
    const { services, answering, actor, session } = options;
    this.#options = options;
    this.#pace = new TokenBucket(services.clock, limits.socketTextsMax, limits.socketTextsPerSecond);
    this.#intake = callIntake(options, () => this.#call, { received: () => {}, message: (data) => this.message(data) });
    this.#mapper = new RealtimeEventMapper({
      callId: actor.identity.id,
      sessionId: session.id,
      greeting: greetingFor(answering, session) ?? '',
      detects: () => this.#settings.detects,
      send: (event) => this.#send(event),
    });
    const wire: CallWire = {
      send: (message) => this.#mapper.message(message),
      sendAudio: (frame) => this.#mapper.audio(frame),
      isFree: () => isFree(this.#socket),
      intake: this.#intake,
      end: (code, close) => this.#end(code, close),
    };
    this.#call = new Call({ ...options, wire }, this.#settings.call);
  }

  opened(socket: Socket): void {
    this.#socket = socket;
    this.#send({ type: 'session.created', session: this.#session });
    if (this.#options.isBeta)
      this.#refuse(null, { message: betaSentence('header `OpenAI-Beta`'), param: 'OpenAI-Beta' });
    this.#call.open();
  }

  message(data: string | Uint8Array): void {
    if (this.#socket === null || this.#options.actor.closed || this.#intake.keeps(data)) return;
    taking(this.#call, this.#options, () => {
      // Binary messages come only from the intake: audio that waited for its decoder.
      if (typeof data === 'string') this.#take(parseObject(data));
      else this.#intake.push(data, this.#settings.call);
    });
  }

  unreadable(): void {
    this.message('');
  }

  /** Audio comes in text messages here and has the pace of audio: `#take` counts the others. */
  isPaced(): boolean {
    return false;
  }

  /** The call closes the socket, once its turn is sealed and the error is sent. */
  tooLarge(): boolean {
    this.#call.fault('invalid_request', tooLarge);
    return true;
  }

  tooFast(): boolean {
    this.#call.fault('invalid_request', refused);
    return true;
  }

  closed(): void {
    this.#socket = null;
    this.#call.left();
    this.#intake.close();
  }

  get #session() {
    const { session, model } = this.#options;
    return sessionView({ id: session.id, model, expiresAt: session.expiresAt }, this.#settings);
  }

  #take(event: ClientEvent | null): void {
    if (event?.type === 'input_audio_buffer.append') {
      const { audio = '' } = fits(shapes['input_audio_buffer.append'], event) ?? {};
      if (audio !== '') return this.#listen(audio, event);
    }
    if (!this.#pace.take(1)) return this.#call.fault('invalid_request', refused);
    const beta = event === null ? null : betaFieldOf(event);
    if (beta !== null) return this.#refuse(event, { message: betaSentence(`field \`${beta}\``), param: beta });
    try {
      if (event === null || !this.#act(event)) this.#refuse(event);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#refuse(event, error);
    }
  }

  /** Carries out an event; returns false at the wrong time. Throws the `Failure` of a field. */
  #act(event: ClientEvent): boolean {
    const { type } = event;
    if (type === undefined) throw new Failure('missing_field', { field: 'type' });
    if (typeof type !== 'string' || !Object.hasOwn(this.#acts, type))
      throw new Failure('invalid_field', { field: 'type' });
    return this.#acts[type as Name](event);
  }

  #listen(audio: string, event: ClientEvent): void {
    const bytes = Buffer.from(audio, 'base64');
    const padding = audio.endsWith('==') ? 2 : audio.endsWith('=') ? 1 : 0;
    // Node skips characters outside base64.
    if (bytes.length === 0 || Math.ceil(bytes.length / 3) * 4 < audio.length - padding)
      return this.#refuse(event, new Failure('invalid_field', { field: 'audio' }));
    this.#intake.push(new Uint8Array(bytes), this.#settings.call);
  }

  /** Handlers that return false for an event at the wrong time, and throw the `Failure` of a field. */
  readonly #acts: { readonly [N in Name]: (event: ClientEvent) => boolean } = {
    'session.update': (event) => this.#update(read('session.update', event).session),
    'input_audio_buffer.append': (event) => this.#unheard(event),
    'input_audio_buffer.commit': (event) => this.#commit(event),
    'input_audio_buffer.clear': () => this.#clear(),
    'conversation.item.create': (event) => this.#write(event),
    'conversation.item.truncate': (event) => this.#truncate(event),
    'conversation.item.retrieve': (event) => this.#retrieve(event),
    'response.create': (event) => this.#respond(event),
    'response.cancel': (event) => this.#cancel(event),
  };

  #answer(event: RealtimeEvent): boolean {
    this.#send(event);
    return true;
  }

  /** Refuses audio that is empty or not a text. */
  #unheard(event: ClientEvent): never {
    read('input_audio_buffer.append', event);
    throw new Failure('invalid_field', { field: 'audio' });
  }

  #update(update: RealtimeUpdate): boolean {
    this.#settings = withUpdate(this.#settings, update, this.#call.speech.listens);
    this.#call.configure(this.#settings.call);
    return this.#answer({ type: 'session.updated', session: this.#session });
  }

  /** Ends the person's turn, or only the utterance if the client asks for responses itself. */
  #commit(event: ClientEvent): boolean {
    if (!this.#call.speech.listens) return false;
    const { utterances } = this.#mapper;
    const { committed } = utterances;
    utterances.commit();
    if (this.#settings.call.clientEndsTurns)
      void this.#call.speech.endUtterance().then(() => utterances.committed > committed || this.#refuse(event));
    else void this.#call.speech.flush();
    return true;
  }

  #clear(): boolean {
    void this.#call.speech.clear();
    return this.#answer({ type: 'input_audio_buffer.cleared' });
  }

  #write(event: ClientEvent): boolean {
    const { item } = read('conversation.item.create', event);
    const text = item.content
      .map((part) => part.text)
      .join('\n')
      .trim();
    const all = [...this.#written, text];
    if (text === '' || !text.isWellFormed() || codePoints(all.join(' ')) > limits.messageCharactersMax)
      throw new Failure('invalid_field', { field: 'item.content' });
    this.#written = all;
    const id = item.id ?? `item_${this.#options.actor.identity.id.slice('call_'.length)}_t${++this.#made}`;
    this.#mapper.items.add(id, { type: 'input_text', text });
    return true;
  }

  /** Answers the texts or the speech so far; refuses without any, since no response would come. */
  #respond(event: ClientEvent): boolean {
    const text = this.#written.splice(0).join(' ');
    if (text !== '') this.#call.message(text);
    else if (this.#call.speech.listens) void this.#call.speech.flush().then((spoke) => spoke || this.#refuse(event));
    else return false;
    return true;
  }

  /** Cancels the response with the given id, or the one under way. */
  #cancel(event: ClientEvent): boolean {
    const { response_id: id } = read('response.cancel', event);
    if (id != null && id !== this.#mapper.responseId) return false;
    // The response of a greeting may be complete before its audio is heard.
    if (!this.#mapper.responds && !spoken.has(this.#call.state)) return false;
    if (!this.#mapper.responds || this.#isOpen(this.#mapper.replyId)) this.#call.interrupt();
    return true;
  }

  /**
   * Whether a reply is the call's open one. A reply that was cut is under way for the client until its position is known:
   * by then an interruption would meet the person's next words.
   */
  #isOpen(itemId: string | null): boolean {
    return itemId !== null && this.#call.told?.messageId === itemId;
  }

  #truncate(event: ClientEvent): boolean {
    const asked = read('conversation.item.truncate', event);
    const samples = Math.floor((asked.audio_end_ms * this.#settings.call.outputSampleRate) / 1000);
    // An open reply is cut at the position; a reply that was just cut takes it as its listener's position.
    if (this.#mapper.replyId === asked.item_id && this.#isOpen(asked.item_id)) this.#call.interrupt();
    // A slow client's cut of a reply that is settled changes nothing, and is no fault of the client.
    if (!this.#call.truncate(asked.item_id, samples) && !this.#mapper.isDone(asked.item_id))
      throw new Failure('invalid_field', { field: 'item_id' });
    return this.#answer({
      type: 'conversation.item.truncated',
      item_id: asked.item_id,
      content_index: 0,
      audio_end_ms: asked.audio_end_ms,
    });
  }

  #retrieve(event: ClientEvent): boolean {
    const item = this.#mapper.item(read('conversation.item.retrieve', event).item_id);
    if (item === undefined) throw new Failure('invalid_field', { field: 'item_id' });
    return this.#answer({ type: 'conversation.item.retrieved', item });
  }

  /** Refuses an event; the call continues. `param`: the wrong field. */
  #refuse(
    event: ClientEvent | null,
    { message, param = null }: { readonly message: string; readonly param?: string | null | undefined } = {
      message: sentenceFor('invalid_request', refused),
    },
  ): void {
    const eventId =
      typeof event?.event_id === 'string' && event.event_id.length <= limits.nameCharactersMax ? event.event_id : null;
    const error = { type: 'invalid_request_error', code: 'invalid_request', message, param, event_id: eventId };
    this.#send({ type: 'error', error });
  }

  #send(event: RealtimeEvent): void {
    const socket = this.#socket;
    if (socket === null) return;
    const text = jsonText({ event_id: `event_${++this.#sent}`, ...event });
    sendText(socket, text, this.#call);
  }

  #end(code: string | null, close: number): void {
    const socket = this.#socket;
    this.#socket = null;
    this.#intake.close();
    if (code !== null)
      socket?.send(
        jsonText({
          event_id: `event_${++this.#sent}`,
          type: 'error',
          error: { type: 'server_error', code, message: sentenceFor(code, close), param: null, event_id: null },
        }),
      );
    socket?.close(close);
  }
}

/** The states in which something is heard, or held. */
const spoken: ReadonlySet<string> = new Set(['speaking', 'paused']);
