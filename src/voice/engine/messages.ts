/** What a voice process is ordered to do, and what it reports. Audio is 16-bit PCM, mono; 16 kHz wherever it is listened to. */

/** What speaks: one of flite's own voices, or a file of the operator's. */
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
  /** 0.5 to 2; 1 is the voice's own. */
  readonly speed: number;
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

/** What comes next of a stream of audio, for the detector. */
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
  /** The result of a decoding is not wanted any more: it ends at its next token, with an empty text. */
  | { readonly do: 'drop'; readonly id: number }
  /** Drops what is kept for a stream. */
  | { readonly do: 'forget'; readonly stream: number }
  /** Loads what detects voice, and the installed recogniser where it is wanted, so that the first order need not wait for them. */
  | { readonly do: 'warm'; readonly id: number; readonly recogniser: boolean };

/** `cpuMs`: the CPU time of the process for this order, decoding alone. */
export type Report =
  | { readonly id: number; readonly samples: Int16Array; readonly sampleRate: number }
  | { readonly id: number; readonly text: string; readonly tokens: readonly number[]; readonly cpuMs: number }
  /** For each part what the detector says of its windows, or why it failed. */
  | { readonly id: number; readonly detected: readonly (Float32Array | string)[] }
  | { readonly id: number; readonly warm: true }
  | { readonly id: number; readonly failed: string };

/** The window of the voice activity detector: 32 ms at 16 kHz. */
export const windowSamples = 512;
