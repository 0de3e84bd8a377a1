/**
 * `parley-client/browser-call`: a call in a browser, with its microphone and its loudspeaker. The screen stays on while it lasts, a
 * microphone that is unplugged is followed by another, and a device that falls silent is told. Where the browser does not cancel the echo
 * of the reply the call is half duplex, so that the assistant's words do not come back as the person's.
 */
import { Call, type CallOptions } from './call.ts';
import { Loudspeaker, loudspeaker } from './loudspeaker.ts';
import { microphone, type Microphone, type MicrophoneOptions } from './microphone.ts';

export { Loudspeaker, loudspeaker, type LoudspeakerOptions } from './loudspeaker.ts';

export interface BrowserCallOptions extends Omit<CallOptions, 'player' | 'encoding' | 'sample_rate' | 'output_encoding' | 'output_sample_rate'> {
  /**
   * The speech that cuts a reply, as in any call. Without it the microphone decides, and each that takes its place: while one hears the reply the
   * call is half duplex. That is `call.halfDuplex`, not the service's `off`, which cannot be changed once there was audio: set it to false where
   * the person has headphones. With it nothing is decided here.
   */
  barge_in?: CallOptions['barge_in'];
  /** The microphone's id; the browser's choice by default. */
  deviceId?: string;
  /** A context for the reply that was made in the handler of a click, where the call itself is opened later. The call closes it. */
  context?: object;
  /** Where the page serves `parley-client/call-worklet`. */
  worklet?: string | URL;
  /** Called when a device changes. */
  onDevice?: (device: Device) => void;
}

/** `silent`: it has given nothing but zeros for three seconds, as one that is switched off. `lost`: there is none, until one is plugged in. `held`: the loudspeaker is taken away, as by a phone call. `heard`: the browser does not cancel what the loudspeaker plays. */
export interface Device {
  readonly microphone: 'open' | 'silent' | 'lost';
  readonly loudspeaker: 'open' | 'held';
  readonly echo: 'cancelled' | 'heard';
}

export interface BrowserCall {
  readonly call: Call;
  readonly loudspeaker: Loudspeaker;
  /** The loudness of the person, from 0 to 1. */
  readonly level: number;
}

/** The parts of the browser's API in use. */
interface Browser {
  readonly document: EventTarget & { readonly visibilityState: string };
  readonly navigator: {
    readonly mediaDevices: EventTarget;
    readonly wakeLock?: { request(type: 'screen'): Promise<{ release(): Promise<void> }> };
    readonly audioSession?: { type: string };
  };
}

/** Frames of 20 ms without any sound at all. */
const silentFrames = 150;

/**
 * Opens microphone and loudspeaker, and the call on them. Call it in the handler of a click. Rejects with the browser's own error where
 * the person or the device refuses; what becomes of the call itself is told by its events.
 */
export async function browserCall({ deviceId, context, worklet, onDevice, ...options }: BrowserCallOptions): Promise<BrowserCall> {
  const { navigator } = globalThis as unknown as Browser;
  // Else a phone plays the reply at the ear.
  if (navigator?.audioSession !== undefined) navigator.audioSession.type = 'play-and-record';
  const device: MicrophoneOptions = { deviceId, worklet, echoCancellation: true, noiseSuppression: true, autoGainControl: true };
  const output = loudspeaker({ context, worklet });
  output.catch(() => {});
  const [source, player] = await Promise.all([microphone(device), output]).catch((error: unknown) => {
    void output.then((one) => one.close(), () => {});
    throw error;
  });
  return new Talk(source, player, device, options, onDevice);
}

class Talk implements BrowserCall {
  readonly call: Call;
  readonly loudspeaker: Loudspeaker;
  level = 0;
  readonly #options: MicrophoneOptions;
  readonly #tell: ((device: Device) => void) | undefined;
  #device: Device = { microphone: 'open', loudspeaker: 'open', echo: 'cancelled' };
  /** Whether the microphone decides who may speak over a reply. */
  readonly #decides: boolean;
  #source: Microphone | null = null;
  #opening = false;
  #silent = 0;

  constructor(source: Microphone, player: Loudspeaker, device: MicrophoneOptions, options: Omit<CallOptions, 'player'>, tell?: (device: Device) => void) {
    this.loudspeaker = player;
    // A later microphone has to have the rate of the first.
    this.#options = { ...device, sampleRate: source.sampleRate };
    this.#tell = tell;
    this.#decides = options.barge_in === undefined;
    this.call = new Call({ ...options, player, sample_rate: source.sampleRate, output_sample_rate: player.sampleRate });
    player.onHeld = (held) => this.#note({ loudspeaker: held ? 'held' : 'open' });
    const { navigator } = globalThis as unknown as Browser;
    const over = new AbortController();
    navigator.mediaDevices.addEventListener('devicechange', () => void (this.#device.microphone === 'open' || this.#reopen()), { signal: over.signal });
    void staysAwake(over.signal);
    void this.#hear(source);
    void this.call.closed.then(() => {
      over.abort();
      this.#source?.stop();
    });
  }

  async #hear(source: Microphone): Promise<void> {
    this.#source = source;
    this.#silent = 0;
    if (this.#decides) this.call.halfDuplex = !source.cancelsEcho;
    this.#note({ microphone: 'open', echo: source.cancelsEcho ? 'cancelled' : 'heard' });
    if (this.call.state === 'closed') source.stop();
    for await (const frame of source) {
      this.level = frame.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0) / 32_768;
      this.#silent = this.level === 0 ? this.#silent + 1 : 0;
      if (this.#silent === silentFrames) this.#note({ microphone: 'silent' });
      if (this.#silent === 0) this.#note({ microphone: 'open' });
      this.call.send(frame);
    }
    if (this.#source === source && this.call.state !== 'closed') await this.#reopen();
  }

  /** Another microphone in place of this one. */
  async #reopen(): Promise<void> {
    if (this.#opening) return;
    this.#opening = true;
    const before = this.#source;
    this.#source = null;
    before?.stop();
    try {
      void this.#hear(await microphone(this.#options));
    } catch {
      this.level = 0;
      this.#note({ microphone: 'lost' });
    }
    this.#opening = false;
  }

  #note(change: Partial<Device>): void {
    const device = { ...this.#device, ...change };
    if ((Object.keys(device) as (keyof Device)[]).every((part) => device[part] === this.#device[part])) return;
    this.#device = device;
    this.#tell?.(device);
  }
}

/** Keeps the screen on; the browser lets go of it whenever the page is hidden. */
async function staysAwake(over: AbortSignal): Promise<void> {
  const { document, navigator } = globalThis as unknown as Browser;
  const hold = async (): Promise<void> => {
    if (document.visibilityState !== 'visible') return;
    const lock = await navigator.wakeLock?.request('screen').catch(() => null);
    if (over.aborted) await lock?.release();
    else over.addEventListener('abort', () => void lock?.release());
  };
  document.addEventListener('visibilitychange', () => void hold(), { signal: over });
  await hold();
}
