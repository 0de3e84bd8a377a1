/** The settings of a call: of its query, and of a `start` before the first audio (contract 18). */
import type { BargeIn } from '../../../machines/call.ts';
import type { Encoding } from '../../base/audio-formats.ts';
import type { CallQuery } from '../../base/wire.ts';
import type { OutputEncoding } from '../../providers/voice/audio/outgoing.ts';

export interface CallSettings {
  readonly encoding: Encoding;
  readonly sampleRate: number;
  readonly language: string | null;
  readonly partials: boolean;
  readonly turnSilenceMs: number;
  readonly bargeIn: BargeIn;
  readonly outputEncoding: OutputEncoding;
  readonly outputSampleRate: number;
  readonly aheadMs: number;
  readonly greets: boolean;
}

export function settingsOf(query: CallQuery): CallSettings {
  const outputEncoding = (query.output_encoding ?? 'pcm_s16le') as OutputEncoding;
  return {
    encoding: (query.encoding ?? 'pcm_s16le') as Encoding,
    sampleRate: query.sample_rate ?? 16_000,
    language: query.language ?? null,
    partials: query.partials ?? true,
    turnSilenceMs: query.turn_silence_ms ?? 500,
    bargeIn: (query.barge_in ?? 'words') as BargeIn,
    outputEncoding,
    outputSampleRate: query.output_sample_rate ?? (outputEncoding === 'pcm_s16le' ? 16_000 : 8_000),
    aheadMs: query.ahead_ms ?? 1_000,
    greets: query.greeting ?? true,
  };
}

/** The settings with those that a `start` names. */
export const withStart = (before: CallSettings, start: Pick<CallQuery, 'encoding' | 'sample_rate' | 'language' | 'partials' | 'turn_silence_ms' | 'barge_in'>): CallSettings => ({
  ...before,
  encoding: (start.encoding as Encoding | undefined) ?? before.encoding,
  sampleRate: start.sample_rate ?? before.sampleRate,
  language: start.language ?? before.language,
  partials: start.partials ?? before.partials,
  turnSilenceMs: start.turn_silence_ms ?? before.turnSilenceMs,
  bargeIn: (start.barge_in as BargeIn | undefined) ?? before.bargeIn,
});
