/**
 * `parley-client/call`: a spoken conversation on a session (contract 18). A call sends the microphone's audio, plays
 * the reply, reports how much of it was heard, and comes back with a new token when its socket is lost. It runs on any
 * platform that has a `Player`.
 */
import type { CallMessage, CallSettings, CallToken, WireMessage, WireState } from './call-messages.ts';
import { CallSockets, passes } from './call-socket.ts';
import { realClock, type Clock } from './clock.ts';
import type { Parley } from './parley.ts';
import { PersonAudio } from './person-audio.ts';
import type { Player } from './player.ts';
import { ReplyPlayback } from './reply-playback.ts';
import type { Socket, SocketClass } from './socket.ts';
import { ThinkingSound } from './thinking.ts';

export type { CallMessage, CallSettings, CallToken, CutBy } from './call-messages.ts';
export { StreamPlayer, type Player, type StreamPlayerOptions } from './player.ts';

/** `opening` until the service is ready, `lost` while a new socket is sought. */
export type CallState = 'opening' | WireState | 'lost' | 'closed';

export type CallEvent =
  | CallMessage
  | { type: 'state'; state: CallState }
  /** The reply is first heard: so long after the person's last voice, or after the message that was typed. */
  | { type: 'answered'; message_id: string; voice_to_voice_ms: number }
  /** The call has ended. `error` is null if the person hung up or a newer call took its place. */
  | { type: 'closed'; reason: 'hangup' | 'replaced' | 'person' | null; error: Error | null };

export interface CallOptions extends CallSettings {
  /** Gives a token for each socket: of `parley.sessions.callToken`, or of a server that keeps the key. */
  token: (options: { signal: AbortSignal }) => Promise<Pick<CallToken, 'url'>>;
  /** Address of the server for the socket, such as `https://parley.example.com`; by default the token's address. */
  url?: string;
  player: Player;
  /** Whether the player sounds softly while a reply is thought of for longer than 1.5 s; false by default. */
  thinkingSound?: boolean;
  /** Ends the call as `hangUp` does. */
  signal?: AbortSignal;
  /** Instead of the runtime's own. */
  WebSocket?: SocketClass;
  /** Time and chance, for tests. */
  clock?: Clock;
}

/** A source of audio as `microphone()` of `parley-client/microphone` gives one, or a stream of Node. */
export type AudioSource = AsyncIterable<ArrayBuffer | ArrayBufferView>;

/** Times in milliseconds. */
const hangUpMs = 2_000;
/**
 * The last of a reply is in the microphone so long after it has left the loudspeaker, as far as nobody knows: its own
 * delay, the room, the way to the program.
 */
const echoMs = 300;
/** The bytes of silence, by encoding. */
const silences: Readonly<Record<string, number>> = { pcm_mulaw: 0xff, pcm_alaw: 0xd5 };

/**
 * Opens a call on a session. The events begin once the caller has run on, so a listener added at once hears all of
 * them.
 */
export function call(parley: Parley, sessionId: string, options: Omit<CallOptions, 'token'>): Call {
  return new Call({ ...options, token: (options) => parley.sessions.callToken(sessionId, options) });
}

export class Call {
  readonly #sockets: CallSockets;
  readonly #settings: CallSettings;
  readonly #clock: Clock;
  readonly #player: Player;
  readonly #playback: ReplyPlayback;
  readonly #audio: PersonAudio;
  readonly #listeners = new Set<(event: CallEvent) => void>();
  readonly #ending = new AbortController();
  readonly #closed: Promise<void>;
  #settle: () => void = () => {};
  #state: CallState = 'opening';
  #socket: Socket | null = null;
  #ready: Extract<CallMessage, { type: 'ready' }> | null = null;
  /** The time of the person's last voice or typed message, while it has no answer. */
  #asked: number | null = null;
  #greeted = false;
  #muted = false;
  #halfDuplex: boolean;
  /** When a reply was spoken last. */
  #spokenAt = -Infinity;
  readonly #thinking: ThinkingSound | null;
  #hangingUp = false;
  #giveUp: () => void = () => {};

  constructor({ signal, ...options }: CallOptions) {
    const { token, url, player, WebSocket, clock = realClock, thinkingSound = false, ...settings } = options;
    this.#sockets = new CallSockets({
      token,
      url,
      settings,
      clock,
      WebSocket,
      onMessage: (message) => this.#take(message),
      onAudio: (audio) => {
        if (!this.#hangingUp) this.#playback.play(audio);
      },
    });
    this.#settings = settings;
    this.#clock = clock;
    this.#player = player;
    this.#audio = new PersonAudio(settings, clock);
    this.#playback = new ReplyPlayback({
      player,
      clock,
      bytesPerSample: settings.output_encoding?.endsWith('law') ? 1 : 2,
      report: (id, samples) => this.#send({ type: 'played', message_id: id, samples }),
      begun: (id, at) => this.#answered(id, at),
    });
    this.#thinking = thinkingSound ? new ThinkingSound(player, settings.output_encoding ?? 'pcm_s16le', clock) : null;
    this.#halfDuplex = settings.barge_in === 'off';
    this.#closed = new Promise((resolve) => (this.#settle = resolve));
    player.onPlayed = (id, samples) => this.#playback.heard(id, samples);
    signal?.addEventListener('abort', () => void this.hangUp(), { signal: this.#ending.signal });
    queueMicrotask(() => (signal?.aborted ? this.#end('hangup', null) : void this.#run()));
  }

  get state(): CallState {
    return this.#state;
  }

  /** The service's `ready` of the present socket; null before the first. */
  get ready(): Extract<CallMessage, { type: 'ready' }> | null {
    return this.#ready;
  }

  /** Resolves when the call has ended for any reason; its event `closed` has the reason. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  get muted(): boolean {
    return this.#muted;
  }

  /** Mutes: while true, silence is sent in place of the person's audio. */
  set muted(on: boolean) {
    this.#muted = on;
  }

  get halfDuplex(): boolean {
    return this.#halfDuplex;
  }

  /**
   * Half duplex: while true, silence is sent in place of the person's audio during a reply and for 300 ms after it, for
   * a microphone that hears the loudspeaker. Always true if `barge_in` is `off`; otherwise it can be changed during the
   * call.
   */
  set halfDuplex(on: boolean) {
    this.#halfDuplex = on;
  }

  /** Calls `listener` with each event. The function returned ends it. */
  subscribe(listener: (event: CallEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Sends the person's audio, at the pace in which it is spoken. What is sent while there is no socket waits, the last
   * two seconds of it.
   */
  send(audio: ArrayBuffer | ArrayBufferView): void {
    const view = ArrayBuffer.isView(audio)
      ? new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength)
      : new Uint8Array(audio);
    const { encoding = 'pcm_s16le' } = this.#settings;
    const silent = this.#muted || (this.#halfDuplex && this.#echoes);
    // A second without audio counts as silence too, and a packet of silence is the encoder's to make.
    if (this.#state === 'closed' || (silent && encoding === 'opus')) return;
    // The caller may reuse its buffer.
    const own = silent ? new Uint8Array(view.length).fill(silences[encoding] ?? 0) : view.slice();
    this.#audio.send(own, this.#socket);
  }

  /** Sends all of a source, until it ends or the call does. Rejects with the source's failure. */
  async sendFrom(source: AudioSource): Promise<void> {
    const audio = source[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([audio.next(), this.#closed]);
      if (next === undefined || next.done) break;
      this.send(next.value);
    }
    if (this.#state === 'closed') await audio.return?.();
  }

  /** Cuts the reply; before its first sound, withdraws the turn. */
  interrupt(): void {
    this.#send({ type: 'interrupt' });
  }

  /** Makes what was said so far the turn. */
  flush(): void {
    this.#asked = this.#clock.now();
    this.#send({ type: 'flush' });
  }

  /** Sends a typed text of 1 to 8000 characters, which is answered aloud. Throws a `TypeError` for any other. */
  message(text: string): void {
    const { length } = [...text];
    if (length === 0 || length > 8_000) throw new TypeError('A message has 1 to 8000 characters.');
    this.#asked = this.#clock.now();
    this.#send({ type: 'message', text });
  }

  /** Ends the call: silent at once, over as soon as the service has answered, or two seconds later. */
  hangUp(): Promise<void> {
    if (this.#hangingUp || this.#state === 'closed') return this.#closed;
    this.#hangingUp = true;
    this.#silence();
    if (this.#socket === null) this.#end('hangup', null);
    else this.#giveUp = this.#clock.after(hangUpMs, () => this.#end('hangup', null));
    this.#send({ type: 'hangup' });
    return this.#closed;
  }

  #tell(event: CallEvent): void {
    for (const listener of [...this.#listeners]) listener(event);
  }

  #enter(state: CallState): void {
    if (this.#state === state || this.#state === 'closed') return;
    if (this.#speaks) this.#spokenAt = this.#clock.now();
    this.#state = state;
    if (state === 'thinking') this.#thinking?.start();
    else this.#thinking?.stop();
    this.#tell({ type: 'state', state });
  }

  get #speaks(): boolean {
    return this.#state === 'speaking' || this.#state === 'paused';
  }

  /** Whether the microphone may hear the loudspeaker. */
  get #echoes(): boolean {
    return this.#speaks || this.#clock.now() < this.#spokenAt + echoMs;
  }

  #send(message: object): void {
    this.#socket?.send(JSON.stringify(message));
  }

  /** Opens sockets one after the other until the call ends. */
  async #run(): Promise<void> {
    const { signal } = this.#ending;
    try {
      for (;;) {
        const { socket, ended } = await this.#sockets.open(!this.#greeted, signal);
        this.#socket = socket;
        this.#audio.open(socket);
        const failure = await ended;
        this.#socket = null;
        if (this.#hangingUp) return this.#end('hangup', null);
        if (signal.aborted || !passes(failure)) return this.#end(null, failure);
        this.#silence();
        this.#enter('lost');
        this.#sockets.lost();
        await this.#sockets.backOff(signal);
      }
    } catch (error) {
      this.#end(null, error as Error);
    }
  }

  #take(message: WireMessage): void {
    if (this.#state === 'closed') return;
    if (message.type === 'state') return this.#enter(message.state);
    if (message.type === 'ready') this.#ready = { ...message, ...this.#ownReady() };
    if (message.type === 'speech.stopped') this.#asked = this.#audio.timeOf(message.at_ms);
    if (message.type === 'message.accepted') this.#asked = null;
    if (message.type === 'audio.start' && message.turn_id === null) this.#greeted = true;
    this.#playback.take(message);
    this.#tell(message.type === 'ready' ? this.#ready! : (message as CallMessage));
    if (message.type === 'ended') this.#end(message.reason, null);
  }

  /** `ready` was sent before the settings of `start` came. */
  #ownReady(): object {
    const names = ['encoding', 'sample_rate', 'turn_silence_ms', 'barge_in'] as const;
    return Object.fromEntries(
      names.flatMap((name) => (this.#settings[name] === undefined ? [] : [[name, this.#settings[name]]])),
    );
  }

  #answered(id: string, at: number): void {
    if (this.#asked === null) return;
    this.#tell({ type: 'answered', message_id: id, voice_to_voice_ms: Math.max(0, Math.round(at - this.#asked)) });
    this.#asked = null;
  }

  /** Drops what is being played. */
  #silence(): void {
    this.#thinking?.stop();
    this.#playback.silence();
  }

  #end(reason: 'hangup' | 'replaced' | 'person' | null, error: Error | null): void {
    if (this.#state === 'closed') return;
    this.#giveUp();
    this.#silence();
    this.#enter('closed');
    this.#player.onPlayed = null;
    this.#player.close();
    this.#ending.abort();
    this.#socket = null;
    this.#tell({ type: 'closed', reason, error });
    this.#settle();
  }
}
