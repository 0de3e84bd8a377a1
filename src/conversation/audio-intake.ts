/** A client's audio on a socket: its pace, its decoder, and the seconds that are counted (contract 8). */
import type { Encoding } from '../base/audio-formats.ts';
import { limits } from '../base/limits.ts';
import { TokenBucket } from '../base/token-bucket.ts';
import { audioDecoder, type AudioDecoder } from '../providers/voice/audio/decoding.ts';
import { UnreadableAudio } from '../providers/voice/audio/unreadable.ts';
import type { Assistant } from '../store/store.ts';
import type { Services } from './services.ts';
import { countVoice } from './voice-usage.ts';

/** Messages that wait for their decoder to be loaded: ten seconds of the shortest packets. */
const socketQueuedMax = 4_096;

export interface IntakeOptions {
  readonly services: Services;
  readonly assistant: Pick<Assistant, 'workspaceId' | 'id'>;
  /** The API key that the seconds are counted for; null without one. */
  readonly keyId: string | null;
  /** Whether the seconds are counted; the seconds of a trial are not. */
  readonly isCounted: boolean;
  /** Receives audio of 16 kHz. */
  take(samples: Int16Array): void;
  /** Reports the whole seconds of audio that were taken, more than before. */
  received(seconds: number): void;
  /** A message that waited for the decoder. */
  message(data: string | Uint8Array): void;
  /** The client's fault: the code of the error. */
  refused(code: 'invalid_request' | 'rate_limited'): void;
  failed(error: unknown): void;
}

export class AudioIntake {
  readonly #options: IntakeOptions;
  #decoder: AudioDecoder | null = null;
  /** Messages that wait for the decoder, which loads with the first audio among them; null without any. */
  #queue: (string | Uint8Array)[] | null = null;
  #queuedBytes = 0;
  /** The pace of audio, in milliseconds. */
  readonly #pace: TokenBucket;
  /** Milliseconds of audio taken, without the audio that the pace refused. */
  takenMs = 0;
  #secondsReported = 0;
  #secondsCounted = 0;
  #countedAt: number;
  #closed = false;

  constructor(options: IntakeOptions) {
    const { clock } = options.services;
    this.#options = options;
    this.#pace = new TokenBucket(clock, limits.socketAudioMsMax, 1000);
    this.#countedAt = clock.monotonic();
  }

  /** Keeps a message that must wait for the decoder; false if it need not wait. */
  keeps(data: string | Uint8Array): boolean {
    if (this.#queue === null) return false;
    this.#queue.push(data);
    this.#queuedBytes += data.length;
    if (this.#queue.length > socketQueuedMax || this.#queuedBytes > limits.socketMessageBytesMax)
      this.#options.refused('rate_limited');
    return true;
  }

  /** Takes a message of audio. */
  push(frame: Uint8Array, settings: { readonly encoding: Encoding; readonly sampleRate: number }): void {
    if (this.#decoder !== null) return this.#decode(frame, this.#decoder);
    this.#queue = [frame];
    this.#queuedBytes = frame.length;
    const decoder = audioDecoder(settings);
    if (!(decoder instanceof Promise)) return this.#useDecoder(decoder);
    decoder.then((opened) => this.#useDecoder(opened)).catch((error) => this.#options.failed(error));
  }

  /** The audio that the decoder still holds. */
  rest(): Int16Array {
    return this.#decoder?.end() ?? new Int16Array(0);
  }

  /** Counts the seconds since the last count, at most once within `socketUsageMs`. */
  countWhenDue(): void {
    if (this.#options.services.clock.monotonic() - this.#countedAt >= limits.socketUsageMs) this.#count();
  }

  /** The workspace was removed: there is no usage left to count in. */
  leaveUncounted(): void {
    this.#secondsCounted = Infinity;
  }

  /** Counts the rest, and frees the decoder. */
  close(): void {
    this.#closed = true;
    this.#count();
    this.#decoder?.close();
    this.#queue = null;
  }

  /** Takes the messages that waited for the decoder. */
  #useDecoder(decoder: AudioDecoder): void {
    if (this.#closed) return decoder.close();
    this.#decoder = decoder;
    const waited = this.#queue ?? [];
    this.#queue = null;
    for (const data of waited) this.#options.message(data);
  }

  #decode(frame: Uint8Array, decoder: AudioDecoder): void {
    const { refused, take, received } = this.#options;
    const before = decoder.sourceSamples;
    let samples: Int16Array;
    try {
      samples = decoder.push(frame);
    } catch (error) {
      if (error instanceof UnreadableAudio) return refused('invalid_request');
      throw error;
    }
    if (!this.#pace.take(((decoder.sourceSamples - before) * 1000) / decoder.sourceRate))
      return refused('rate_limited');
    this.takenMs = (decoder.sourceSamples * 1000) / decoder.sourceRate;
    take(samples);
    const seconds = Math.floor(this.takenMs / 1000);
    if (seconds <= this.#secondsReported) return;
    this.#secondsReported = seconds;
    received(seconds);
  }

  #count(): void {
    const { assistant, keyId, isCounted, services } = this.#options;
    const seconds = Math.floor(this.takenMs / 1000) - this.#secondsCounted;
    this.#countedAt = services.clock.monotonic();
    if (seconds <= 0 || !isCounted) return;
    this.#secondsCounted += seconds;
    void countVoice(assistant, keyId, { transcriptionSeconds: seconds }, services);
  }
}
