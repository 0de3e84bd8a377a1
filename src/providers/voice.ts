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

/** How to reach a provider on a customer's behalf; both null where it needs no credential. */
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
  /** The one on whose behalf it is spoken: callers share the voice processes. */
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
  /** Whether the listener waits for it; otherwise it is made ahead of its time. */
  readonly awaited: boolean;
  /** Whether it is to be said where each word sounds, if the provider knows. */
  readonly timed?: boolean;
  readonly signal: AbortSignal;
}

/** Where a word sounds, in samples from the beginning of its sentence: from the first to before the last. */
export interface WordSpan {
  readonly from: number;
  readonly to: number;
}

/** The audio of a sentence: 16-bit PCM, mono. */
export interface SentenceAudio {
  readonly sampleRate: number;
  readonly pieces: AsyncIterable<Int16Array>;
  /**
   * A span for each word of the text, as `wordsOf` finds them; absent if the provider does not know them, or was not
   * asked.
   */
  readonly words?: readonly WordSpan[];
}

/** The tokens of one decoding of an utterance, kept for the next decoding of it as a guess. */
export interface DecodingDraft {
  tokens: readonly number[];
}

export interface TranscriptionRequest {
  /** The one on whose behalf it is transcribed: callers share the voice processes. */
  readonly caller: string;
  /** 16-bit PCM, mono, 16 kHz: one utterance. */
  readonly samples: Int16Array;
  /** The utterance's number on its socket, from 0. */
  readonly index: number;
  /** The draft of this utterance. */
  readonly draft: DecodingDraft;
  readonly name: string | null;
  /** A BCP 47 tag that `takesLanguage` accepts; null if the client names none. */
  readonly language: string | null;
  readonly urgency: 'final' | 'partial';
  readonly access: VoiceAccess;
  readonly signal: AbortSignal;
}

/**
 * Why a provider did not speak or transcribe, for the log; a client gets `voice_unavailable`, or
 * `assistant_unavailable` for `rate_limit` (contract 12).
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
  /** Whether it can transcribe the same utterance again and again for partials, at no price but CPU time. */
  readonly partials: boolean;
  /**
   * Whether the provider accepts these settings' names; absent if it accepts any. Returns the field that it does not
   * accept, or null.
   */
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
  /** Begins the audio of one sentence: resolves with the first of it at hand. Rejects with `VoiceFailed`. */
  speak(request: SentenceRequest): Promise<SentenceAudio>;
  /** Resolves with the text, empty if nothing is said. Rejects with `VoiceFailed`. */
  transcribe(request: TranscriptionRequest): Promise<string>;
}

/** The providers by name. */
export type VoiceProviders = ReadonlyMap<string, VoiceProvider>;

/** The names of all providers of voices, also of those that a setting turns on. */
export const voiceProviders = ['embedded', 'openai', 'local', 'synthetic'] as const;
