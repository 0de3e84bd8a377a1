/**
 * `parley-client/microphone`: a browser's microphone as a source of audio for `transcribe`. An audio worklet makes the
 * frames, so a page that is busy loses none. The samples are sent at the rate that the device has.
 */
import { microphoneWorklet } from './worklet.ts';

export interface MicrophoneOptions {
  /** The id of the device; the browser's choice by default. */
  deviceId?: string;
  /** Keeps out sound that the page itself plays; true by default. */
  echoCancellation?: boolean;
  noiseSuppression?: boolean;
  autoGainControl?: boolean;
  /** Hertz; the device's own by default. A browser that cannot convert rejects another. */
  sampleRate?: number;
  /**
   * Address at which the page serves `parley-client/microphone-worklet`. Without it the module is a `blob:`, which the
   * page's policy must allow in `script-src`.
   */
  worklet?: string | URL;
}

/** The parts of the browser's API in use, written out so that a program for a server compiles as well. */
interface Node {
  connect(other: object): void;
  disconnect(): void;
}

interface Track extends EventTarget {
  /** The device gives nothing, as while a phone call has it. */
  readonly muted: boolean;
  stop(): void;
  /** Not in every browser; a newer one names the sound that it cancels. */
  getSettings?(): { readonly echoCancellation?: boolean | string };
}

interface Stream {
  getTracks(): readonly Track[];
}

interface Devices {
  getUserMedia(constraints: object): Promise<Stream>;
  getSupportedConstraints?(): { readonly echoCancellation?: boolean };
}

interface WorkletNode extends Node {
  readonly port: { onmessage: ((event: { readonly data: Int16Array }) => void) | null };
}

interface Context extends EventTarget {
  readonly sampleRate: number;
  readonly state: string;
  readonly destination: object;
  readonly audioWorklet: { addModule(url: string): Promise<void> };
  createMediaStreamSource(stream: Stream): Node;
  resume(): Promise<void>;
  close(): Promise<void>;
}

interface Browser {
  readonly navigator: { readonly mediaDevices?: Devices };
  readonly AudioContext: new (options?: { sampleRate: number }) => Context;
  readonly AudioWorkletNode: new (context: Context, name: string, options: object) => WorkletNode;
}

/** The highest rate that a transcription takes; some devices have 96,000. */
const rateMax = 48_000;
/** Frames that nobody has read; older ones are dropped, as the service takes no more than ten seconds at once. */
const framesMax = 500;

/**
 * Iterate over it for frames of 20 ms. The microphone stays open until `stop()`, until the iteration is left, or until
 * the device is unplugged.
 */
export class Microphone implements AsyncIterable<Int16Array> {
  readonly encoding = 'pcm_s16le';
  /** Hertz: for the `sample_rate` of the transcription. */
  readonly sampleRate: number;
  /**
   * Whether the browser removes what the page itself plays, as far as it reports that: with `remote-only` it does not.
   */
  readonly cancelsEcho: boolean;
  /** Called when the device is taken away, as by a phone call or a lock screen, and when it is back. */
  onHeld: ((held: boolean) => void) | null = null;
  readonly #context: Context;
  readonly #stream: Stream;
  readonly #worklet: WorkletNode;
  readonly #frames: Int16Array[] = [];
  #wake: (() => void) | null = null;
  #over = false;
  #held = false;

  constructor(context: Context, stream: Stream, worklet: WorkletNode, cancelsEcho: boolean) {
    this.sampleRate = context.sampleRate;
    this.cancelsEcho = cancelsEcho;
    this.#context = context;
    this.#stream = stream;
    this.#worklet = worklet;
    worklet.port.onmessage = ({ data }) => {
      this.#frames.push(data);
      if (this.#frames.length > framesMax) this.#frames.shift();
      this.#wake?.();
    };
    const look = (): void => this.#look();
    context.addEventListener('statechange', look);
    for (const track of stream.getTracks()) {
      track.addEventListener('ended', () => this.stop());
      track.addEventListener('mute', look);
      track.addEventListener('unmute', look);
    }
  }

  /** Whether the device is taken away: no frames come, or frames of zeros. */
  get held(): boolean {
    return this.#held;
  }

  /** Whether the browser itself keeps the device silent: `resume` does not change that, another microphone may. */
  get muted(): boolean {
    return this.#stream.getTracks().some(({ muted }) => muted);
  }

  /** Brings the device back, in the handler of a click. */
  resume(): void {
    void this.#context.resume().catch(() => {});
  }

  /** Closes the microphone; the iteration ends, after the frames recorded. */
  stop(): void {
    if (this.#over) return;
    this.#over = true;
    this.#worklet.port.onmessage = null;
    this.#worklet.disconnect();
    for (const track of this.#stream.getTracks()) track.stop();
    void this.#context.close();
    this.#wake?.();
  }

  #look(): void {
    const held = this.#context.state !== 'running' || this.muted;
    if (this.#over || held === this.#held) return;
    this.#held = held;
    this.onHeld?.(held);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Int16Array, void, undefined> {
    try {
      for (;;) {
        const frame = this.#frames.shift();
        if (frame !== undefined) yield frame;
        else if (this.#over) return;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.stop();
    }
  }
}

/**
 * Opens the microphone: the browser asks the person, and rejects with its own error where that or the device is
 * missing. Call it in a handler of a click.
 */
export async function microphone({
  deviceId,
  echoCancellation = true,
  sampleRate,
  worklet: address,
  ...more
}: MicrophoneOptions = {}): Promise<Microphone> {
  const { navigator, AudioContext, AudioWorkletNode } = globalThis as unknown as Browser;
  if (navigator?.mediaDevices === undefined)
    throw new TypeError(
      'There is no microphone here: a browser has one, on a page that came over HTTPS or from localhost.',
    );
  const stream = await navigator.mediaDevices.getUserMedia({
    audio: {
      channelCount: 1,
      echoCancellation,
      ...more,
      ...(deviceId !== undefined && { deviceId: { exact: deviceId } }),
    },
  });
  let context = new AudioContext(sampleRate === undefined ? undefined : { sampleRate });
  try {
    if (context.sampleRate > rateMax) {
      void context.close();
      context = new AudioContext({ sampleRate: rateMax });
    }
    const url = String(
      address ?? URL.createObjectURL(new Blob([`(${microphoneWorklet})();`], { type: 'text/javascript' })),
    );
    await context.audioWorklet.addModule(url).finally(() => address === undefined && URL.revokeObjectURL(url));
    const worklet = new AudioWorkletNode(context, 'parley-microphone', {
      channelCount: 1,
      channelCountMode: 'explicit',
    });
    const opened = new Microphone(context, stream, worklet, cancels(stream, navigator.mediaDevices, echoCancellation));
    context.createMediaStreamSource(stream).connect(worklet);
    // The worklet plays nothing, but only nodes connected to the loudspeaker run.
    worklet.connect(context.destination);
    void context.resume();
    return opened;
  } catch (error) {
    for (const track of stream.getTracks()) track.stop();
    void context.close();
    throw error;
  }
}

/**
 * Whether the echo of the page is cancelled. A browser that does not say does as it was asked, unless it knows no such
 * constraint.
 */
function cancels(stream: Stream, devices: Devices, asked: boolean): boolean {
  const told = stream.getTracks()[0]?.getSettings?.().echoCancellation;
  if (told !== undefined) return told !== false && told !== 'remote-only';
  const known = devices.getSupportedConstraints?.();
  return asked && (known === undefined || known.echoCancellation === true);
}
