/** The interface to a voice provider, which speaks and transcribes. The providers are in `voice/`. */
import type { ModelFailure } from './model.ts';

/** A voice, as `GET /voices` lists it. */
export interface Voice {
  readonly id: string;
  readonly name: string;
  /** A BCP 47 tag, as `en-US`. */
  readonly language: string;
  /** Hertz. */
  readonly sampleRate: number;
}

/** Address and key of a provider for requests on a customer's behalf; both null for a provider without a credential. */
export interface VoiceAccess {
  /** Null for the provider's own default. Includes its `/v1`. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
}

/** An assistant's settings of its provider; null is the provider's default. */
export interface VoiceChoice {
  /** The model that speaks. */
  readonly name: string | null;
  /** The model that transcribes. */
  readonly transcriptionName: string | null;
  readonly voice: string | null;
}

export interface SentenceRequest {
  /** Caller on whose behalf the sentence is spoken: callers share the voice processes. */
  readonly caller: string;
  readonly text: string;
  /** The sentence's number within the text, from 0. */
  readonly index: number;
  readonly name: string | null;
  /** A voice that `takesVoice` accepts; null for the provider's default. */
  readonly voice: string | null;
  /** 0.5 to 2. */
  readonly speed: number;
  readonly access: VoiceAccess;
  /** Whether the listener waits for the sentence; otherwise it is synthesised ahead of its time. */
  readonly awaited: boolean;
  /** Whether the times of words are requested, if the provider knows them. */
  readonly timed?: boolean;
  readonly signal: AbortSignal;
}

/** Samples of one word, from the beginning of its sentence: `from` is included, `to` is not. */
export interface WordSpan {
  readonly from: number;
  readonly to: number;
}

/** The audio of a sentence: 16-bit PCM, mono. */
export interface SentenceAudio {
  readonly sampleRate: number;
  readonly pieces: AsyncIterable<Int16Array>;
  /**
   * A span for each word of the text, as `wordsOf` finds them; absent if the provider does not know them or they were
   * not requested.
   */
  readonly words?: readonly WordSpan[];
}

/** Tokens of one decoding of an utterance, kept as a guess for its next decoding. */
export interface DecodingDraft {
  tokens: readonly number[];
}

export interface TranscriptionRequest {
  /** Caller on whose behalf the utterance is transcribed: callers share the voice processes. */
  readonly caller: string;
  /** 16-bit PCM, mono, 16 kHz: one utterance. */
  readonly samples: Int16Array;
  /** The utterance's number on its socket, from 0. */
  readonly index: number;
  /** The draft of this utterance. */
  readonly draft: DecodingDraft;
  readonly name: string | null;
  /** The model that speaks; only a synthetic voice reads it, and only without a `name`. */
  readonly speechName?: string | null;
  /** A BCP 47 tag that `takesLanguage` accepts; null if the client names none. */
  readonly language: string | null;
  readonly urgency: 'final' | 'partial';
  readonly access: VoiceAccess;
  readonly signal: AbortSignal;
}

/**
 * Failure of a provider to speak or transcribe, with the reason for the log. A client gets `voice_unavailable`, or
 * `assistant_unavailable` for `rate_limit` (contract 8).
 */
export class VoiceFailed extends Error {
  readonly reason: ModelFailure | 'process';

  constructor(reason: VoiceFailed['reason'], detail: string = reason) {
    super(detail);
    this.reason = reason;
  }
}

export interface VoiceProvider {
  /** The value of `voice.provider` in the console. */
  readonly provider: string;
  readonly needsCredential: boolean;
  /** Whether this server can use it now; absent if it always can. */
  available?(): boolean;
  /** Whether it can transcribe the same utterance repeatedly for partials, which costs only CPU time. */
  readonly partials: boolean;
  /** Returns the name in these settings that the provider refuses, or null; absent if it accepts any name. */
  refusedField?(choice: VoiceChoice): 'name' | 'voice' | 'transcription_name' | null;
  /** The voices that it offers with an assistant's settings. */
  voices(choice: VoiceChoice): readonly Voice[];
  /** Whether a request may name this voice. */
  takesVoice(id: string): boolean;
  takesLanguage(language: string): boolean;
  /**
   * Returns the text without characters that the voice cannot say; it may be empty. Absent if the voice accepts any
   * text.
   */
  sayable?(text: string): string;
  /** Whether the voice spells words that it cannot pronounce, which lasts longer; absent if it does not. */
  readonly spells?: boolean;
  /** Begins the audio of one sentence: resolves once its first audio has arrived. Rejects with `VoiceFailed`. */
  speak(request: SentenceRequest): Promise<SentenceAudio>;
  /** Resolves with the text, empty for audio without speech. Rejects with `VoiceFailed`. */
  transcribe(request: TranscriptionRequest): Promise<string>;
}

/** The providers by name. */
export type VoiceProviders = ReadonlyMap<string, VoiceProvider>;

/** The names of all providers of voices, also of those that a setting turns on. */
export const voiceProviders = ['embedded', 'openai', 'local', 'synthetic'] as const;
