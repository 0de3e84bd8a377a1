/**
 * `parley-client/browser-call`: a call in a browser, with its microphone and its loudspeaker. The screen stays on
 * during the call; a microphone that is unplugged is replaced by another, and a change of the browser's default device
 * is followed; a device that falls silent or is taken away is reported. If the browser does not cancel the echo of the
 * reply, the call is half duplex, so that the assistant's words do not return as the person's.
 */
import { Call, type CallOptions } from './call.ts';
import { realClock } from './clock.ts';
import { Loudspeaker, loudspeaker } from './loudspeaker.ts';
import { microphone, type Microphone, type MicrophoneOptions } from './microphone.ts';

export { Loudspeaker, loudspeaker, type LoudspeakerOptions } from './loudspeaker.ts';

export interface BrowserCallOptions extends Omit<
  CallOptions,
  'player' | 'encoding' | 'sample_rate' | 'output_encoding' | 'output_sample_rate'
> {
  /**
   * The speech that cuts a reply, as in any call. Without it the microphone decides, and each that takes its place:
   * while one hears the reply the call is half duplex. That is `call.halfDuplex`, not the service's `off`, which cannot
   * be changed once there was audio: set it to false where the person has headphones. With it nothing is decided here.
   */
  barge_in?: CallOptions['barge_in'];
  /** The microphone's id; the browser's choice by default. */
  deviceId?: string;
  /**
   * A context for the reply that was made in the handler of a click, where the call itself is opened later. The call
   * closes it.
   */
  context?: object;
  /** Address at which the page serves `parley-client/call-worklet`. */
  worklet?: string | URL;
  /** Called when a device changes. */
  onDevice?: (device: Device) => void;
}

/**
 * `silent`: the microphone has given only zeros for three seconds, like one that is switched off. `lost`: no microphone
 * is plugged in. `held`: the microphone or the loudspeaker is taken away, as by a phone call or a lock screen: `resume`
 * brings both back. `heard`: the browser does not cancel what the loudspeaker plays.
 */
export interface Device {
  readonly microphone: 'open' | 'silent' | 'held' | 'lost';
  readonly loudspeaker: 'open' | 'held';
  readonly echo: 'cancelled' | 'heard';
}

export interface BrowserCall {
  readonly call: Call;
  readonly loudspeaker: Loudspeaker;
  /** The loudness of the person, from 0 to 1. */
  readonly level: number;
  /** Brings back a microphone and a loudspeaker that were taken away, in the handler of a click. */
  resume(): void;
}

/** The parts of the browser's API in use. */
interface Browser {
  readonly document: EventTarget & { readonly visibilityState: string };
  readonly navigator: {
    readonly mediaDevices: EventTarget & {
      enumerateDevices?(): Promise<
        readonly {
          readonly kind: string;
          readonly deviceId: string;
          readonly groupId: string;
          readonly label: string;
        }[]
      >;
    };
    readonly wakeLock?: { request(type: 'screen'): Promise<{ release(): Promise<void> }> };
    readonly audioSession?: { type: string };
  };
}

const browser = globalThis as unknown as Browser;

/** Frames of 20 ms without any sound at all. */
const silentFrames = 150;
/** Milliseconds without a frame after which a microphone counts as taken away, even if the browser says otherwise. */
const heldMs = 2_000;

/**
 * Opens microphone and loudspeaker, and the call on them. Call it in the handler of a click. Rejects with the browser's
 * error if the person or the device refuses; later changes of the call are events.
 */
export async function browserCall({
  deviceId,
  context,
  worklet,
  onDevice,
  ...options
}: BrowserCallOptions): Promise<BrowserCall> {
  const { navigator } = browser;
  // Else a phone plays the reply at the ear.
  if (navigator?.audioSession !== undefined) navigator.audioSession.type = 'play-and-record';
  const device: MicrophoneOptions = {
    deviceId,
    worklet,
    echoCancellation: true,
    noiseSuppression: true,
    autoGainControl: true,
  };
  const output = loudspeaker({ context, worklet });
  output.catch(() => {});
  const [source, player] = await Promise.all([microphone(device), output]).catch((error: unknown) => {
    void output.then(
      (one) => one.close(),
      () => {},
    );
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
  /** The browser's choice of microphone, as it was last; null if it does not say. */
  #standard: string | null = null;
  #opening = false;
  #silent = 0;
  /** Whether `resume` was called since the last frame. */
  #resumed = false;

  constructor(
    source: Microphone,
    player: Loudspeaker,
    device: MicrophoneOptions,
    options: Omit<CallOptions, 'player'>,
    tell?: (device: Device) => void,
  ) {
    this.loudspeaker = player;
    // A later microphone has to have the rate of the first.
    this.#options = { ...device, sampleRate: source.sampleRate };
    this.#tell = tell;
    this.#decides = options.barge_in === undefined;
    this.call = new Call({ ...options, player, sample_rate: source.sampleRate, output_sample_rate: player.sampleRate });
    player.onHeld = (held) => this.#note({ loudspeaker: held ? 'held' : 'open' });
    const { document, navigator } = browser;
    const over = new AbortController();
    const { signal } = over;
    navigator.mediaDevices.addEventListener('devicechange', () => void this.#devicesChanged(), { signal });
    // A phone call has ended, or the screen is unlocked: some browsers give the devices back without a click.
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.#unlock(), {
      signal,
    });
    void staysAwake(signal);
    void standardMicrophone().then((standard) => (this.#standard = standard));
    void this.#hear(source);
    void this.call.closed.then(() => {
      over.abort();
      this.#source?.stop();
    });
  }

  resume(): void {
    const { microphone } = this.#device;
    // Opening it anew may help where the browser gives silence, or where the first click did not bring it back.
    const again = microphone === 'silent' || this.#resumed || this.#source === null || this.#source.muted;
    this.#resumed = true;
    this.#unlock();
    if (again && microphone !== 'open') void this.#reopen();
  }

  #unlock(): void {
    if (this.loudspeaker.held) this.loudspeaker.unlock();
    if (this.#device.microphone !== 'open') this.#source?.resume();
  }

  async #hear(source: Microphone): Promise<void> {
    this.#source = source;
    this.#silent = 0;
    this.#resumed = false;
    source.onHeld = (held) => this.#hold(source, held);
    let frames = 0;
    const watch = (before: number): (() => void) =>
      realClock.after(heldMs, () => {
        if (frames === before) this.#hold(source, true);
        stopWatching = watch(frames);
      });
    let stopWatching = watch(0);
    if (this.#decides) this.call.halfDuplex = !source.cancelsEcho;
    this.#note({ microphone: 'open', echo: source.cancelsEcho ? 'cancelled' : 'heard' });
    if (this.call.state === 'closed') source.stop();
    for await (const frame of source) {
      frames++;
      this.#resumed = false;
      this.level = frame.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0) / 32_768;
      this.#silent = this.level === 0 ? this.#silent + 1 : 0;
      if (!source.held) this.#noteFrame();
      this.call.send(frame);
    }
    stopWatching();
    if (this.#source === source && this.call.state !== 'closed') await this.#reopen();
  }

  /** Frames come: the microphone is open, unless they are zeros for too long. */
  #noteFrame(): void {
    if (this.#silent === silentFrames) this.#note({ microphone: 'silent' });
    if (this.#silent === 0 || this.#device.microphone === 'held') this.#note({ microphone: 'open' });
  }

  #hold(source: Microphone, held: boolean): void {
    if (this.#source !== source) return;
    if (held) this.level = 0;
    this.#note({ microphone: held ? 'held' : 'open' });
  }

  /** A microphone was plugged in or taken away, or the browser's choice is another. */
  async #devicesChanged(): Promise<void> {
    const { microphone } = this.#device;
    if (microphone === 'lost' || microphone === 'silent') return this.#reopen();
    const standard = await standardMicrophone();
    const changed = this.#standard !== null && standard !== null && standard !== this.#standard;
    this.#standard = standard ?? this.#standard;
    if (changed && this.#options.deviceId === undefined && !this.#opening) await this.#follow();
  }

  /** The browser's new choice in place of this microphone, which stays if that cannot be opened. */
  async #follow(): Promise<void> {
    this.#opening = true;
    const before = this.#source;
    const next = await microphone(this.#options).catch(() => null);
    this.#opening = false;
    if (next === null) return;
    void this.#hear(next);
    before?.stop();
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

/** The name of the microphone that the browser takes by itself, which it lists first; null if it does not say. */
async function standardMicrophone(): Promise<string | null> {
  const { navigator } = browser;
  const devices = (await navigator.mediaDevices.enumerateDevices?.().catch(() => [])) ?? [];
  const first = devices.find(({ kind }) => kind === 'audioinput');
  // One browser lists the device a second time under the name `default`, with its group and its label.
  return first === undefined ? null : [first.deviceId, first.groupId, first.label].join(' ');
}

/** Keeps the screen on; the browser lets go of it whenever the page is hidden. */
async function staysAwake(over: AbortSignal): Promise<void> {
  const { document, navigator } = browser;
  const hold = async (): Promise<void> => {
    if (document.visibilityState !== 'visible') return;
    const lock = await navigator.wakeLock?.request('screen').catch(() => null);
    if (over.aborted) await lock?.release();
    else over.addEventListener('abort', () => void lock?.release());
  };
  document.addEventListener('visibilitychange', () => void hold(), { signal: over });
  await hold();
}
