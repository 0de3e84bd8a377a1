/** The metrics of voice (contract 11): sockets, waiting utterances, and the steps down under load. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const voiceSeconds = [0.025, 0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 1, 2, 5, 10];

export interface VoiceMetrics {
  readonly utterances: Counter<'reason'>;
  readonly firstAudio: Histogram;
  readonly processEndings: Counter;
}

interface Watched {
  readonly load: {
    readonly busy: number;
    readonly finalWaitsMs: number;
    readonly waiting: Readonly<Record<string, number>>;
  };
  readonly decoded: { readonly cpuSeconds: number; readonly audioSeconds: number };
}

/** The parts of voice that the metrics read. */
export interface VoiceView {
  readonly pools: { readonly listeners: Watched; readonly speakers: Watched };
  readonly loadShedding: { readonly level: string; readonly levels: readonly string[] };
}

const finalReasons = ['silence', 'flush', 'finish', 'length'] as const;

export function openVoiceMetrics(registers: Registry[]): VoiceMetrics {
  const utterances = new Counter({
    name: 'parley_utterances_total',
    help: 'Utterances transcribed, by what ended them.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of finalReasons) utterances.inc({ reason }, 0);
  return {
    utterances,
    processEndings: new Counter({
      name: 'parley_voice_process_endings_total',
      help: 'Voice processes that ended unasked.',
      registers,
    }),
    firstAudio: new Histogram({
      name: 'parley_first_audio_seconds',
      help: 'From a request for speech to its first audio.',
      buckets: voiceSeconds,
      registers,
    }),
  };
}

export function watchVoice(
  { pools: { listeners, speakers }, loadShedding }: VoiceView,
  sockets: () => number,
  registers: Registry[],
): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    void new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  gauge('parley_voice_sockets', 'Open transcription sockets.', sockets);
  gauge(
    'parley_voice_busy_ratio',
    'The share of time that the voice processes that listen are at work.',
    () => listeners.load.busy,
  );
  gauge(
    'parley_voice_final_wait_seconds',
    'How long the oldest utterance has waited to be transcribed.',
    () => listeners.load.finalWaitsMs / 1000,
  );
  gauge(
    'parley_voice_real_time_factor',
    'CPU seconds of recognition for each second of audio decoded.',
    () => listeners.decoded.cpuSeconds / Math.max(1e-9, listeners.decoded.audioSeconds),
  );
  new Gauge({
    name: 'parley_voice_waiting',
    help: 'What waits for a voice process, by kind.',
    labelNames: ['kind'],
    registers,
    collect() {
      for (const [kind, count] of Object.entries(listeners.load.waiting))
        this.set({ kind }, count + (speakers.load.waiting[kind] ?? 0));
    },
  });
  new Gauge({
    name: 'parley_voice_rung',
    help: '1 for the present level of load shedding of voice.',
    labelNames: ['rung'],
    registers,
    collect() {
      for (const rung of loadShedding.levels) this.set({ rung }, Number(loadShedding.level === rung));
    },
  });
}
