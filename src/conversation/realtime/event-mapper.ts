/**
 * The messages of a call as the events that an OpenAI Realtime client reads (contract 18): those about responses here,
 * those about input audio in `utterances.ts`.
 */
import { bareId } from '../../base/ids.ts';
import type { CallMessage } from '../../wire/wire.ts';
import { ConversationItems } from './conversation-items.ts';
import { Utterances } from './utterances.ts';

export interface EventMapperOptions {
  /** The parts of ids that no other call has. */
  readonly callId: string;
  readonly sessionId: string;
  /** The text of the greeting, which has no deltas. */
  readonly greeting: string;
  /** Whether the server detects speech; otherwise the client commits utterances. */
  detects(): boolean;
  send(event: RealtimeEvent): void;
}

export interface RealtimeEvent {
  readonly type: string;
  readonly [name: string]: unknown;
}

type Completed = Extract<CallMessage, { type: 'turn.completed' }>;

interface Response {
  readonly id: string;
  readonly itemId: string;
  transcript: string;
  hasAudio: boolean;
  /** Whether the end of its audio was sent. */
  isSilent: boolean;
  /** Whether speech has cut it rather than the client. */
  isSpokenOver: boolean;
  /** The item before its own. */
  readonly previous: string | null;
  isOver: boolean;
}

/** The states of a reply under way. */
const replying: ReadonlySet<string> = new Set(['thinking', 'held', 'speaking', 'paused']);

export class RealtimeEventMapper {
  readonly #options: EventMapperOptions;
  readonly items: ConversationItems;
  readonly utterances: Utterances;
  #state = '';
  #response: Response | null = null;

  constructor(options: EventMapperOptions) {
    this.#options = options;
    const send = (type: string, fields: object): void => this.#send(type, fields);
    this.items = new ConversationItems(send);
    this.utterances = new Utterances({ ...options, items: this.items, send });
  }

  /** Whether a response is under way. */
  get responds(): boolean {
    return this.#response !== null && !this.#response.isOver;
  }

  /** Returns an item, as far as it is known while its response is under way. */
  item(id: string): object | undefined {
    return id === this.replyId ? replyItem(this.#response!, 'in_progress') : this.items.get(id);
  }

  /** The item of the response under way; null without one. */
  get replyId(): string | null {
    return this.responds ? this.#response!.itemId : null;
  }

  /** The newest response; null before the first. */
  get responseId(): string | null {
    return this.#response?.id ?? null;
  }

  /** Whether the item is a reply of a response that has ended. */
  isDone(id: string): boolean {
    const item = this.items.get(id);
    return item !== undefined && 'role' in item && item.role === 'assistant';
  }

  /** Maps a message of the call. This API has no event for some messages. */
  message(message: CallMessage): void {
    switch (message.type) {
      case 'state':
        return this.#moved(message.state);
      case 'speech.started':
        return this.utterances.started(message.utterance, message.at_ms, !replying.has(this.#state));
      case 'speech.stopped':
        return this.utterances.stopped(message.utterance, message.at_ms);
      case 'transcript.final':
        return this.utterances.transcribed(message);
      case 'turn.started':
        return this.#open(`resp_${bareId(message.turn_id)}`, message.message_id);
      case 'message.accepted':
        return this.#passed(`resp_${bareId(message.message_id)}`);
      case 'audio.start':
        return this.#sounds(message.message_id);
      case 'message.delta':
        return this.#says(message.text);
      case 'audio.end':
        return this.#silent(message.message_id);
      case 'audio.clear':
        return this.#cleared(message.message_id);
      case 'turn.completed':
        return this.#close('completed', null, message.usage);
      case 'turn.aborted':
      case 'turn.withdrawn':
        return this.#cancel();
      case 'turn.failed':
        return this.#failed(message.turn_id, message.code, message.message);
      case 'ready':
      case 'audio.received':
      case 'transcript.partial':
      case 'audio.pause':
      case 'audio.resume':
      case 'ended':
      case 'error':
    }
  }

  audio(frame: Uint8Array): void {
    const response = this.#response;
    if (response !== null)
      this.#send('response.output_audio.delta', {
        ...placeOf(response),
        delta: Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength).toString('base64'),
      });
  }

  #moved(state: string): void {
    const wasReplying = replying.has(this.#state);
    this.#state = state;
    if (state !== 'hearing') return;
    if (wasReplying && this.#response !== null) this.#response.isSpokenOver = true;
    // Words count now: the event lets the client stop its audio.
    this.utterances.tellAll();
  }

  #open(id: string, itemId: string): void {
    if (this.#response?.itemId === itemId) return;
    const transcript = id === this.#greetingId ? this.#options.greeting : '';
    const response: Response = {
      id,
      itemId,
      transcript,
      hasAudio: false,
      isSilent: false,
      isSpokenOver: false,
      previous: this.items.previous,
      isOver: false,
    };
    this.#response = response;
    this.#send('response.created', { response: this.#view(response, 'in_progress', null, []) });
    const item = replyItem(response, 'in_progress');
    this.#send('response.output_item.added', { response_id: id, output_index: 0, item });
    this.#send('conversation.item.added', { previous_item_id: this.items.previous, item });
    this.items.previous = itemId;
  }

  /** Ends a response that is empty: a person of the desk answers later. A client may wait for its end. */
  #passed(id: string): void {
    const response = { id };
    this.#send('response.created', { response: this.#view(response, 'in_progress', null, []) });
    this.#send('response.done', { response: this.#view(response, 'completed', null, []) });
  }

  #sounds(itemId: string): void {
    this.#open(this.#greetingId, itemId);
    this.#part(this.#response!);
  }

  #part(response: Response): void {
    if (response.hasAudio) return;
    response.hasAudio = true;
    this.#send('response.content_part.added', { ...placeOf(response), part: { type: 'audio', transcript: '' } });
  }

  #says(text: string): void {
    const response = this.#response;
    if (response === null || response.isOver) return;
    this.#part(response);
    response.transcript += text;
    this.#send('response.output_audio_transcript.delta', { ...placeOf(response), delta: text });
  }

  #silent(itemId: string): void {
    const response = this.#response;
    if (response?.itemId !== itemId) return;
    this.#hush(response);
    if (response.id === this.#greetingId) this.#close('completed', null);
  }

  /** Ends the response of a greeting that is cut: a greeting has no turn that ends. */
  #cleared(itemId: string): void {
    const response = this.#response;
    if (response?.itemId === itemId && response.id === this.#greetingId) this.#cancel();
  }

  /** The response that is the greeting: the one without a turn. */
  get #greetingId(): string {
    return `resp_${bareId(this.#options.callId)}`;
  }

  #cancel(): void {
    this.#close('cancelled', {
      type: 'cancelled',
      reason: this.#response?.isSpokenOver ? 'turn_detected' : 'client_cancelled',
    });
  }

  /** Sends the end of the audio, also of a reply that is cut. */
  #hush(response: Response): void {
    if (response.isSilent) return;
    response.isSilent = true;
    this.#send('response.output_audio.done', placeOf(response));
  }

  #failed(turnId: string | null, code: string, message: string): void {
    if (turnId !== null && this.responds)
      return this.#close('failed', { type: 'failed', error: { type: 'server_error', code, message } });
    this.#send('error', { error: { type: 'server_error', code, message, param: null, event_id: null } });
  }

  #close(status: 'completed' | 'cancelled' | 'failed', details: object | null, usage: Usage | null = null): void {
    const response = this.#response;
    if (response === null || response.isOver) return;
    response.isOver = true;
    const { id, transcript, hasAudio } = response;
    const item = replyItem(response, status === 'completed' ? 'completed' : 'incomplete');
    if (hasAudio) {
      this.#hush(response);
      this.#send('response.output_audio_transcript.done', { ...placeOf(response), transcript });
      this.#send('response.content_part.done', { ...placeOf(response), part: { type: 'audio', transcript } });
    }
    this.#send('response.output_item.done', { response_id: id, output_index: 0, item });
    this.items.keep(item);
    this.#send('conversation.item.done', { previous_item_id: response.previous, item });
    this.#send('response.done', {
      response: this.#view(response, status, details, hasAudio ? [item] : [], usage),
    });
  }

  #view(
    { id }: Pick<Response, 'id'>,
    status: string,
    details: object | null,
    output: readonly object[],
    usage: Usage | null = null,
  ) {
    return {
      ...{
        id,
        object: 'realtime.response',
        status,
        status_details: details,
        output,
        conversation_id: this.#options.sessionId,
        output_modalities: ['audio'],
      },
      ...{ max_output_tokens: 'inf', metadata: null },
      usage: usage && usageView(usage),
    };
  }

  #send(type: string, fields: object): void {
    this.#options.send({ type, ...fields });
  }
}

type Usage = Completed['usage'];

const usageView = ({ input_tokens: input, output_tokens: output, cached_input_tokens: cached }: Usage) => ({
  total_tokens: input + output,
  input_tokens: input,
  output_tokens: output,
  input_token_details: { cached_tokens: cached },
});

const replyItem = ({ itemId, transcript, hasAudio }: Response, status: string) => ({
  ...{ id: itemId, object: 'realtime.item', type: 'message', status, role: 'assistant' },
  content: hasAudio ? [{ type: 'output_audio', transcript }] : [],
});

const placeOf = ({ id, itemId }: Response) => ({ response_id: id, item_id: itemId, output_index: 0, content_index: 0 });
