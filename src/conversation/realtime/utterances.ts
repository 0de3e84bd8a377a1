/** The utterances of a person in a call, as the events of input audio that an OpenAI Realtime client reads. */
import { bareId } from '../../base/ids.ts';
import type { CallMessage } from '../../wire/wire.ts';
import { userItem, type ConversationItems } from './conversation-items.ts';

type Final = Extract<CallMessage, { type: 'transcript.final' }>;

export interface UtterancesOptions {
  readonly callId: string;
  readonly items: ConversationItems;
  /** Whether the server detects speech; otherwise the client commits utterances. */
  detects(): boolean;
  send(type: string, fields: object): void;
}

/** An utterance of the person, as an item of the conversation. */
interface Utterance {
  readonly itemId: string;
  readonly startMs: number;
  /** Whether the client knows it: during a reply once words count. */
  isTold: boolean;
  isCommitted: boolean;
}

const utterancesKept = 100;

export class Utterances {
  readonly #options: UtterancesOptions;
  readonly #utterances = new Map<number, Utterance>();
  /** Utterances that have become items. */
  committed = 0;

  constructor(options: UtterancesOptions) {
    this.#options = options;
  }

  /** Begins an utterance. `isKnown`: whether the client gets to know it at once. */
  started(number: number, startMs: number, isKnown: boolean): void {
    const utterance = {
      itemId: `item_${bareId(this.#options.callId)}_${number}`,
      startMs,
      isTold: false,
      isCommitted: false,
    };
    this.#utterances.set(number, utterance);
    for (const known of this.#utterances.keys()) if (known <= number - utterancesKept) this.#utterances.delete(known);
    if (isKnown) this.#tell(utterance);
  }

  /** Lets the client know all utterances. */
  tellAll(): void {
    for (const utterance of this.#utterances.values()) this.#tell(utterance);
  }

  #tell(utterance: Utterance): void {
    if (utterance.isTold) return;
    utterance.isTold = true;
    if (this.#options.detects())
      this.#options.send('input_audio_buffer.speech_started', {
        audio_start_ms: utterance.startMs,
        item_id: utterance.itemId,
      });
  }

  stopped(number: number, atMs: number): void {
    const utterance = this.#utterances.get(number);
    if (utterance?.isTold) this.#stop(utterance, atMs);
  }

  #stop(utterance: Utterance, atMs: number): void {
    this.#fallSilent(utterance, atMs);
    this.#commit(utterance);
  }

  #fallSilent({ itemId }: Utterance, atMs: number): void {
    if (this.#options.detects())
      this.#options.send('input_audio_buffer.speech_stopped', { audio_end_ms: atMs, item_id: itemId });
  }

  /** Commits the utterances under way, as the client asks. */
  commit(): void {
    for (const utterance of this.#utterances.values()) if (!utterance.isCommitted) this.#commit(utterance);
  }

  #commit(utterance: Utterance): void {
    if (utterance.isCommitted) return;
    this.#tell(utterance);
    utterance.isCommitted = true;
    this.committed++;
    const { items, send } = this.#options;
    send('input_audio_buffer.committed', { previous_item_id: items.previous, item_id: utterance.itemId });
    items.add(utterance.itemId, { type: 'input_audio', transcript: null });
  }

  transcribed({ utterance: number, text, ignored, reason, end_ms: endMs, start_ms: startMs }: Final): void {
    const utterance = this.#utterances.get(number);
    this.#utterances.delete(number);
    const counts = ignored === null && text !== '';
    if (utterance === undefined || (!utterance.isTold && !counts)) return;
    // The client has cleared its audio.
    if (text === '' && ignored === null && reason === 'flush' && !utterance.isCommitted)
      return this.#fallSilent(utterance, endMs);
    this.#tell(utterance);
    if (!utterance.isCommitted) this.#stop(utterance, endMs);
    const place = { item_id: utterance.itemId, content_index: 0 };
    if (ignored === 'failed')
      return this.#options.send('conversation.item.input_audio_transcription.failed', {
        ...place,
        error: {
          type: 'transcription_error',
          code: 'voice_unavailable',
          message: 'The audio could not be transcribed.',
          param: null,
        },
      });
    const transcript = counts ? text : '';
    if (counts)
      this.#options.send('conversation.item.input_audio_transcription.delta', { ...place, delta: transcript });
    this.#options.items.keep(userItem(utterance.itemId, { type: 'input_audio', transcript }));
    this.#options.send('conversation.item.input_audio_transcription.completed', {
      ...place,
      transcript,
      usage: { type: 'duration', seconds: Math.max(0, endMs - startMs) / 1000 },
    });
  }
}
