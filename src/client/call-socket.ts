/**
 * The sockets of a call, one after the other: each opened with a token, and with new ones while the service cannot be
 * reached.
 */
import type { CallSettings, CallToken, WireMessage } from './call-messages.ts';
import { pause, type Clock } from './clock.ts';
import { codedError, ConnectionError, ParleyError } from './failure.ts';
import { parseJson } from './http.ts';
import { socketClass } from './socket-class.ts';
import { socketAt, type Socket, type SocketClass } from './socket.ts';

export interface Wiring {
  /** Gives a token for a socket. */
  readonly token: (options: { signal: AbortSignal }) => Promise<Pick<CallToken, 'url'>>;
  /** Address of the server, where it is not the token's. */
  readonly url: string | undefined;
  readonly settings: CallSettings;
  readonly clock: Clock;
  readonly WebSocket: SocketClass | undefined;
  readonly onMessage: (message: WireMessage) => void;
  readonly onAudio: (audio: Uint8Array) => void;
}

export interface OpenSocket {
  readonly socket: Socket;
  /** Resolves with the failure that ended it. */
  readonly ended: Promise<Error>;
}

/** Times in milliseconds. */
const [openMs, backoffMs, backoffMsMax, patienceMs, steadyMs] = [15_000, 250, 4_000, 60_000, 10_000];
/** Attempts to open the first socket, and attempts with one token, which a refused upgrade leaves good. */
const attemptsMax = 3;

/**
 * The settings that the address alone takes; the others go in a message, since no browser shows the status of a refused
 * upgrade.
 */
const inAddress = ['output_encoding', 'output_sample_rate', 'ahead_ms', 'greeting'] as const;

export class CallSockets {
  readonly #wiring: Wiring;
  /** When the service was lost; null before the first socket. */
  #lostAt: number | null = null;
  #openedAt = 0;
  #attempts = 0;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /**
   * Opens a socket: the first in three attempts, a later one within a minute. Rejects with what cannot be mended, and
   * with the last failure.
   */
  async open(greeting: boolean, signal: AbortSignal): Promise<OpenSocket> {
    const { clock, token } = this.#wiring;
    const Class = await socketClass(this.#wiring.WebSocket);
    for (let address: string | null = null, uses = 0; ; uses++) {
      try {
        if (address === null || uses === attemptsMax)
          [address, uses] = [this.#address((await token({ signal })).url, greeting), 0];
        const opened = await this.#dial(Class, address, signal);
        this.#openedAt = clock.now();
        return opened;
      } catch (error) {
        if (signal.aborted || !passes(error)) throw error;
        const enough =
          this.#lostAt === null ? this.#attempts + 1 >= attemptsMax : clock.now() - this.#lostAt >= patienceMs;
        if (enough) throw error;
        await this.backOff(signal);
      }
    }
  }

  /** Notes that the socket is lost. A socket that did not last is one more failure of the same loss. */
  lost(): void {
    const now = this.#wiring.clock.now();
    if (this.#lostAt !== null && now - this.#openedAt < steadyMs) return;
    this.#lostAt = now;
    this.#attempts = 0;
  }

  /** Exponential with full jitter. */
  backOff(signal: AbortSignal): Promise<void> {
    const { clock } = this.#wiring;
    return pause(clock, clock.random() * Math.min(backoffMsMax, backoffMs * 2 ** this.#attempts++), signal);
  }

  #address(url: string, greeting: boolean): string {
    const settings = { ...this.#wiring.settings, ...(!greeting && { greeting }) };
    const query = inAddress.flatMap((name) => (settings[name] === undefined ? [] : [`&${name}=${settings[name]}`]));
    const { url: server } = this.#wiring;
    return (server === undefined ? url : socketAt(server, url.replace(/^\w+:\/\/[^/?]*/, ''))) + query.join('');
  }

  #start(): string {
    const settings = Object.entries(this.#wiring.settings).filter(
      ([name, value]) => value !== undefined && !(inAddress as readonly string[]).includes(name),
    );
    return JSON.stringify({ type: 'start', ...Object.fromEntries(settings) });
  }

  #dial(Class: SocketClass, url: string, signal: AbortSignal): Promise<OpenSocket> {
    const { clock, onMessage, onAudio } = this.#wiring;
    return new Promise((resolve, reject) => {
      const socket = new Class(url);
      socket.binaryType = 'arraybuffer';
      const origin = /^\w+:\/\/[^/?]*/.exec(url)?.[0] ?? 'its address';
      let end: (error: Error) => void = reject;
      let done = false;
      const over = (error: Error): void => {
        done = true;
        cancel();
        signal.removeEventListener('abort', stop);
        end(error);
      };
      const failed = ({ error: cause }: { error?: unknown } = {}): void =>
        over(
          end === reject
            ? new ConnectionError(`The socket at ${origin} did not open.`, { origin, cause })
            : new ConnectionError('The socket was cut.', { answered: true, cause }),
        );
      const cancel = clock.after(openMs, () => {
        failed();
        socket.close();
      });
      const stop = (): void => {
        over(signal.reason as Error);
        socket.close();
      };
      signal.addEventListener('abort', stop);
      socket.addEventListener('open', () => {
        cancel();
        socket.send(this.#start());
        resolve({ socket, ended: new Promise((resolve) => (end = resolve)) });
      });
      socket.addEventListener('message', ({ data }: { data: unknown }) => {
        if (done) return;
        if (typeof data !== 'string') return onAudio(new Uint8Array(data as ArrayBuffer));
        const message = parseJson(data) as WireMessage | null;
        if (message?.type === 'error') over(codedError(message.code, message.message));
        else if (message !== null) onMessage(message);
      });
      // A close follows an error, but not from Node's own class where the upgrade was refused.
      socket.addEventListener('error', failed);
      socket.addEventListener('close', () => failed());
    });
  }
}

/**
 * Whether another socket may do better: after a cut, a fault, a server that ends; or after any failure of the caller's
 * own that brings a token.
 */
export const passes = (error: unknown): boolean =>
  !(error instanceof ParleyError) || error instanceof ConnectionError || error.retryable || error.code === 'api_error';
