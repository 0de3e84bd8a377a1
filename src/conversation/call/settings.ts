/** The settings of a call: of its query, and of a `start` before the first audio (contract 18). */
import type { BargeIn } from '../../../machines/call.ts';
import type { Encoding } from '../../base/audio-formats.ts';
import type { CallQuery } from '../../wire/wire.ts';
import type { OutputEncoding } from '../../providers/voice/audio/outgoing.ts';

export interface CallSettings {
  readonly encoding: Encoding;
  readonly sampleRate: number;
  readonly language: string | null;
  readonly partials: boolean;
  readonly turnSilenceMs: number;
  /** Whether the client ends the person's turns, and silence ends only their utterances. */
  readonly clientEndsTurns: boolean;
  readonly bargeIn: BargeIn;
  readonly outputEncoding: OutputEncoding;
  readonly outputSampleRate: number;
  readonly aheadMs: number;
  /** Milliseconds from listener to readers, for a client that reports only at a cut what was played. */
  readonly readersBehindMs: number;
  readonly greets: boolean;
}

type StartSettings = Pick<
  CallQuery,
  'encoding' | 'sample_rate' | 'language' | 'partials' | 'turn_silence_ms' | 'barge_in'
>;

const defaults: CallSettings = {
  encoding: 'pcm_s16le',
  sampleRate: 16_000,
  language: null,
  partials: true,
  turnSilenceMs: 500,
  clientEndsTurns: false,
  bargeIn: 'words',
  outputEncoding: 'pcm_s16le',
  outputSampleRate: 16_000,
  aheadMs: 1_000,
  readersBehindMs: 0,
  greets: true,
};

export function settingsOf(query: CallQuery): CallSettings {
  const outputEncoding = query.output_encoding ?? defaults.outputEncoding;
  return {
    ...withStart(defaults, query),
    outputEncoding,
    outputSampleRate: query.output_sample_rate ?? (outputEncoding === 'pcm_s16le' ? defaults.outputSampleRate : 8_000),
    aheadMs: query.ahead_ms ?? defaults.aheadMs,
    greets: query.greeting ?? defaults.greets,
  };
}

/** The settings with those that a `start` names. */
export const withStart = (before: CallSettings, start: StartSettings): CallSettings => ({
  ...before,
  encoding: start.encoding ?? before.encoding,
  sampleRate: start.sample_rate ?? before.sampleRate,
  language: start.language ?? before.language,
  partials: start.partials ?? before.partials,
  turnSilenceMs: start.turn_silence_ms ?? before.turnSilenceMs,
  bargeIn: start.barge_in ?? before.bargeIn,
});
