/** Settings of a call of an OpenAI Realtime client: its updates, and the session that it reads (contract 18). */
import type { CallSettings } from '../call/settings.ts';
import type { Encoding } from '../../base/audio-formats.ts';
import { limits } from '../../base/limits.ts';
import type { RealtimeUpdate } from '../../wire/wire.ts';

export interface RealtimeSettings {
  readonly call: CallSettings;
  /** Whether the server detects speech; otherwise the client commits utterances. */
  readonly detects: boolean;
}

const rates = { 'audio/pcm': 24_000, 'audio/pcmu': 8_000, 'audio/pcma': 8_000 } as const;
const encodings = { 'audio/pcm': 'pcm_s16le', 'audio/pcmu': 'pcm_mulaw', 'audio/pcma': 'pcm_alaw' } as const;

const [silenceMsMin, silenceMsMax] = [200, 3_000];
/** Milliseconds of silence that end no utterance. */
const endlessMs = 24 * 3_600_000;

export const realtimeDefaults: RealtimeSettings = {
  detects: true,
  call: {
    ...{
      encoding: 'pcm_s16le',
      sampleRate: 24_000,
      language: null,
      partials: true,
      turnSilenceMs: 500,
      clientEndsTurns: false,
      bargeIn: 'words',
    },
    ...{
      outputEncoding: 'pcm_s16le',
      outputSampleRate: 24_000,
      aheadMs: 1_000,
      readersBehindMs: limits.realtimeReadersBehindMs,
      greets: true,
    },
  },
};

/** Returns the settings after an update. `listens`: audio has come, so the settings of the input stay. */
export function withUpdate(
  before: RealtimeSettings,
  { audio = {} }: RealtimeUpdate,
  listens: boolean,
): RealtimeSettings {
  const { input, output } = audio;
  const given = output?.format?.type;
  const sounding = given === undefined ? {} : { outputEncoding: encodings[given], outputSampleRate: rates[given] };
  if (listens) return { ...before, call: { ...before.call, ...sounding } };
  const heard = input?.format?.type;
  const listening = heard === undefined ? {} : { encoding: encodings[heard] as Encoding, sampleRate: rates[heard] };
  return {
    ...withDetection(before, input?.turn_detection),
    call: { ...withDetection(before, input?.turn_detection).call, ...listening, ...sounding },
  };
}

type Detection = NonNullable<NonNullable<RealtimeUpdate['audio']>['input']>['turn_detection'];

function withDetection(before: RealtimeSettings, detection: Detection): RealtimeSettings {
  if (detection === undefined) return before;
  if (detection === null)
    return {
      detects: false,
      call: { ...before.call, turnSilenceMs: endlessMs, clientEndsTurns: true, bargeIn: 'off' },
    };
  const {
    silence_duration_ms: silenceMs = 500,
    create_response: creates = true,
    interrupt_response: interrupts = true,
  } = detection;
  const turnSilenceMs = Math.round(Math.min(silenceMsMax, Math.max(silenceMsMin, silenceMs)));
  return {
    detects: true,
    call: { ...before.call, turnSilenceMs, clientEndsTurns: !creates, bargeIn: interrupts ? 'words' : 'off' },
  };
}

const formatView = (encoding: string): object =>
  encoding === 'pcm_mulaw'
    ? { type: 'audio/pcmu' }
    : encoding === 'pcm_alaw'
      ? { type: 'audio/pcma' }
      : { type: 'audio/pcm', rate: 24_000 };

function detectionView({ call, detects }: RealtimeSettings): object | null {
  if (!detects) return null;
  return {
    ...{ type: 'server_vad', threshold: 0.5, prefix_padding_ms: 300, silence_duration_ms: call.turnSilenceMs },
    ...{ create_response: !call.clientEndsTurns, interrupt_response: call.bargeIn !== 'off', idle_timeout_ms: null },
  };
}

/** Returns the session in that API's shape. Instructions, tools and voice belong to the assistant and are not shown. */
export const sessionView = (
  facts: { readonly id: string; readonly model: string; readonly expiresAt: number },
  settings: RealtimeSettings,
) => ({
  ...{
    type: 'realtime',
    object: 'realtime.session',
    id: facts.id,
    model: facts.model,
    output_modalities: ['audio'],
    instructions: '',
  },
  ...{
    tools: [],
    tool_choice: 'auto',
    max_output_tokens: 'inf',
    tracing: null,
    truncation: 'auto',
    prompt: null,
    include: null,
    expires_at: facts.expiresAt,
  },
  audio: {
    input: {
      format: formatView(settings.call.encoding),
      transcription: { model: facts.model, language: null, prompt: null },
      noise_reduction: null,
      turn_detection: detectionView(settings),
    },
    output: { format: formatView(settings.call.outputEncoding), voice: 'default', speed: 1 },
  },
});
