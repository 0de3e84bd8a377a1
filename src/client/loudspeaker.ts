/**
 * The loudspeaker of a call in a browser: an audio worklet plays what comes, pauses and stops without a click, and
 * counts its samples. What counts as played has left the device: the context's time less its output latency decides,
 * not what was handed over.
 */
import { loudspeakerWorklet, makeRing } from './playback.ts';
import type { Player } from './player.ts';

export interface LoudspeakerOptions {
  /** Hertz of the audio, 24,000 by default; `context` has its own. */
  sampleRate?: number;
  /**
   * A context that was made in the handler of a click, where the loudspeaker itself is opened later. The loudspeaker
   * closes it.
   */
  context?: object;
  /**
   * Address at which the page serves `parley-client/call-worklet`. Without it the module is a `blob:`, which the page's
   * policy must allow in `script-src`.
   */
  worklet?: string | URL;
}

/** The parts of the browser's API in use, written out so that a program for a server compiles as well. */
interface Port {
  onmessage: ((event: { readonly data: Told }) => void) | null;
  postMessage(message: object, transfer?: readonly ArrayBufferLike[]): void;
}

interface WorkletNode {
  readonly port: Port;
  connect(other: object): void;
  disconnect(): void;
}

interface Context extends EventTarget {
  readonly sampleRate: number;
  readonly currentTime: number;
  /** Not in every browser. */
  readonly outputLatency?: number;
  readonly baseLatency?: number;
  readonly state: string;
  readonly destination: object;
  readonly audioWorklet: { addModule(url: string): Promise<void> };
  createBuffer(channels: number, length: number, sampleRate: number): object;
  createBufferSource(): { buffer: object | null; connect(other: object): void; start(): void };
  resume(): Promise<void>;
  close(): Promise<void>;
}

interface Browser {
  readonly AudioContext?: new (options: { sampleRate: number; latencyHint: string }) => Context;
  readonly AudioWorkletNode: new (context: Context, name: string, options: object) => WorkletNode;
}

/** The worklet's words (playback.ts). */
type Told = { readonly message: number; readonly position: number } | Mark;

/** Number of samples of a message that were rendered up to a time of the context, in seconds. */
interface Mark {
  readonly message: number;
  readonly count: number;
  readonly time: number;
  readonly level: number;
}

/** A device that claims more, in seconds, is not believed. */
const latencyMax = 1;

export class Loudspeaker implements Player {
  /** Hertz: for the `output_sample_rate` of the call. */
  readonly sampleRate: number;
  onPlayed: Player['onPlayed'] = null;
  /** Called when the device is taken away, as by a phone call, and when it is back. */
  onHeld: ((held: boolean) => void) | null = null;
  readonly #context: Context;
  readonly #node: WorkletNode;
  /** The message that is played: its name, and the number by which the worklet knows it. */
  #id = '';
  #message = 0;
  #marks: Mark[] = [];
  #played = 0;
  #level = 0;
  #held = false;
  #closed = false;
  /** The callers that wait for a position, in their order. */
  readonly #asking: ((position: number) => void)[] = [];

  constructor(context: object, worklet: object) {
    this.#context = context as Context;
    this.#node = worklet as WorkletNode;
    this.sampleRate = this.#context.sampleRate;
    this.#node.port.onmessage = ({ data }) => this.#take(data);
    this.#context.addEventListener('statechange', () => this.#look());
  }

  /** The loudness of what is played, from 0 to 1. */
  get level(): number {
    return this.#level;
  }

  /** Whether the device is taken away: `unlock` in the handler of a click brings it back. */
  get held(): boolean {
    return this.#held;
  }

  /** Makes it sound, in the handler of a click: browsers keep pages silent before. */
  unlock(): void {
    void this.#context.resume();
  }

  play(messageId: string, audio: Uint8Array): void {
    if (this.#closed) return;
    if (messageId !== this.#id) this.#begin(messageId);
    const samples = new Int16Array(audio.slice(0, audio.length - (audio.length % 2)).buffer);
    this.#node.port.postMessage({ type: 'play', message: this.#message, samples }, [samples.buffer]);
  }

  /** The device plays all it has been handed: that counts. */
  pause(messageId: string): Promise<number> {
    return this.#ask('pause', messageId);
  }

  resume(messageId: string): void {
    if (messageId === this.#id) this.#node.port.postMessage({ type: 'resume', message: this.#message });
  }

  clear(messageId: string): Promise<number> {
    return this.#ask('clear', messageId);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#node.port.onmessage = null;
    this.#node.disconnect();
    for (const answer of this.#asking.splice(0)) answer(this.#played);
    void this.#context.close();
  }

  #begin(messageId: string): void {
    this.#id = messageId;
    this.#message++;
    this.#marks = [];
    this.#played = 0;
  }

  #ask(type: 'pause' | 'clear', messageId: string): Promise<number> {
    if (messageId !== this.#id || this.#closed) return Promise.resolve(messageId === this.#id ? this.#played : 0);
    this.#node.port.postMessage({ type, message: this.#message });
    return new Promise((resolve) => this.#asking.push(resolve));
  }

  #take(told: Told): void {
    if ('position' in told) return this.#asking.shift()?.(told.position);
    this.#level = told.level;
    if (told.message !== this.#message) return;
    this.#marks.push(told);
    const played = this.#heard(this.#context.currentTime - this.#latency());
    if (played <= this.#played) return;
    this.#played = played;
    this.onPlayed?.(this.#id, played);
  }

  /** Seconds from rendering to the ear. */
  #latency(): number {
    const { outputLatency, baseLatency = 0 } = this.#context;
    return Math.min(latencyMax, outputLatency || baseLatency);
  }

  /** The samples that were heard by a time of the context: in proportion between two marks, never beyond the last. */
  #heard(time: number): number {
    const next = this.#marks.findIndex((mark) => mark.time > time);
    const before = next < 0 ? this.#marks.at(-1) : this.#marks[next - 1];
    if (next > 1) this.#marks.splice(0, next - 1);
    else if (next < 0) this.#marks.splice(0, this.#marks.length - 1);
    if (before === undefined) return 0;
    const after = this.#marks[1];
    if (next < 0 || after === undefined) return before.count;
    return Math.floor(
      before.count + ((after.count - before.count) * (time - before.time)) / (after.time - before.time),
    );
  }

  #look(): void {
    const held = this.#context.state !== 'running';
    if (this.#closed || held === this.#held) return;
    this.#held = held;
    this.onHeld?.(held);
  }
}

/** Opens the loudspeaker. Call it in a handler of a click, or give it a context that was made there. */
export async function loudspeaker({
  sampleRate = 24_000,
  context: given,
  worklet: address,
}: LoudspeakerOptions = {}): Promise<Loudspeaker> {
  const { AudioContext, AudioWorkletNode } = globalThis as unknown as Browser;
  if (AudioContext === undefined)
    throw new TypeError(
      'There is no loudspeaker here: a browser has one, on a page that came over HTTPS or from localhost.',
    );
  const context = (given as Context | undefined) ?? new AudioContext({ sampleRate, latencyHint: 'interactive' });
  // Some browsers are unlocked by a sound alone, were it a silent one.
  const silence = context.createBufferSource();
  silence.buffer = context.createBuffer(1, 1, context.sampleRate);
  silence.connect(context.destination);
  silence.start();
  void context.resume();
  try {
    const url = String(
      address ?? URL.createObjectURL(new Blob([`(${loudspeakerWorklet})(${makeRing});`], { type: 'text/javascript' })),
    );
    await context.audioWorklet.addModule(url).finally(() => address === undefined && URL.revokeObjectURL(url));
    const node = new AudioWorkletNode(context, 'parley-loudspeaker', { numberOfInputs: 0, outputChannelCount: [1] });
    node.connect(context.destination);
    return new Loudspeaker(context, node);
  } catch (error) {
    void context.close();
    throw error;
  }
}
