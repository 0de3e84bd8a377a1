/** Orders to a voice process, and its reports. Audio is 16-bit PCM, mono; audio to transcribe or detect has 16 kHz. */

/** A voice: one of flite's own, or a file of the operator's. */
export interface VoiceSource {
  readonly name: string;
  /** The path of a `.flitevox` file; null for a voice that flite has built in. */
  readonly file: string | null;
}

export interface SpeakOrder {
  readonly do: 'speak';
  readonly id: number;
  readonly text: string;
  readonly voice: VoiceSource;
  /** Speed from 0.5 to 2; 1 is normal. */
  readonly speed: number;
  /** Whether the spans of the words are requested. */
  readonly timed: boolean;
}

export interface TranscribeOrder {
  readonly do: 'transcribe';
  readonly id: number;
  readonly samples: Int16Array;
  /** The tokens of an earlier decoding of the same utterance. */
  readonly guess: readonly number[];
  /** A folder with the weights; null for those that are installed. */
  readonly folder: string | null;
}

/** The next part of a stream of audio, for the detector. */
export interface StreamPart {
  /** Names the audio stream, whose earlier windows count. */
  readonly stream: number;
  /** Whole windows of `windowSamples`. */
  readonly samples: Int16Array;
}

export interface DetectOrder {
  readonly do: 'detect';
  readonly id: number;
  readonly parts: readonly StreamPart[];
}

export type Order =
  | SpeakOrder
  | TranscribeOrder
  | DetectOrder
  /** Cancels a decoding: it ends at its next token, with an empty text. */
  | { readonly do: 'drop'; readonly id: number }
  /** Drops the state of a stream. */
  | { readonly do: 'forget'; readonly stream: number }
  /**
   * Loads the voice activity detector, and the installed recogniser if requested, so that the first order need not wait
   * for them.
   */
  | { readonly do: 'warm'; readonly id: number; readonly recogniser: boolean };

/** `cpuMs`: the CPU time of the process for this order, decoding alone. */
export type Report =
  /** `words`: the span of each piece of the text between white space, null if they are not wanted. */
  | {
      readonly id: number;
      readonly samples: Int16Array;
      readonly sampleRate: number;
      readonly words: readonly { readonly from: number; readonly to: number }[] | null;
    }
  | { readonly id: number; readonly text: string; readonly tokens: readonly number[]; readonly cpuMs: number }
  /** For each part the detector's result for its windows, or its error. */
  | { readonly id: number; readonly detected: readonly (Float32Array | string)[] }
  | { readonly id: number; readonly warm: true }
  | { readonly id: number; readonly failed: string };

/** The window of the voice activity detector: 32 ms at 16 kHz. */
export const windowSamples = 512;
