/** A transcription: audio out, messages in, over one socket. */
import { pause } from './clock.ts';
import { codedError, ConnectionError } from './failure.ts';
import { parseJson } from './http.ts';
import { given } from './pages.ts';
import type { CallOptions, Requester } from './requester.ts';
import { socketClass } from './socket-class.ts';
import { socketAt, type Socket, type SocketClass } from './socket.ts';
import type {
  ErrorCode,
  NewTranscription,
  NewVisitorTranscription,
  TranscriptionMessage,
  TranscriptionSettings,
} from './types.ts';

/** Bytes that wait in the socket before `send` waits too; polled every few milliseconds, since no event reports it. */
const bufferedBytesMax = 65_536;
const lookMs = 10;
const openMs = 30_000;

export interface TranscribeOptions extends CallOptions {
  /** Address of the server for the socket, such as `https://parley.example.com`; by default the client's address. */
  url?: string;
}

/**
 * Iterate over it for the messages. The socket opens by itself, and audio sent before waits for it. Leaving the
 * iteration leaves the socket open, and a later iteration continues; `close()` and the call's `signal` close it. One
 * iteration at a time.
 */
export class Transcription implements AsyncIterable<TranscriptionMessage> {
  readonly #requester: Requester;
  readonly #options: CallOptions;
  readonly #settings: TranscriptionSettings;
  /** Address of the server. */
  readonly #server: string;
  readonly #opening: Promise<Socket>;
  /** From the beginning of its opening. */
  #socket: Socket | null = null;
  #messages: TranscriptionMessage[] = [];
  #wake: (() => void) | null = null;
  #reading = false;
  #over = false;
  #failure: unknown = null;

  constructor(requester: Requester, asked: (NewTranscription | NewVisitorTranscription) & TranscribeOptions) {
    const { assistant_id, session_id, url, signal, timeoutMs, ...settings } = asked as NewTranscription &
      TranscribeOptions;
    this.#requester = requester;
    this.#options = given({ signal, timeoutMs });
    this.#settings = settings;
    this.#server = url ?? requester.options.url;
    signal?.addEventListener('abort', this.#stop);
    if (signal?.aborted) this.#stop();
    this.#opening = this.#open({ assistant_id, session_id });
    this.#opening.catch((error) => this.#end(error));
  }

  /**
   * Sends audio; of an array of samples its bytes. Resolves once more may be sent, so that a sender that waits for it
   * never fills the memory; rejects with the failure that ended the socket. Audio sent after its end is dropped.
   */
  send(audio: ArrayBuffer | ArrayBufferView): Promise<void> {
    const view = ArrayBuffer.isView(audio)
      ? new Uint8Array(audio.buffer, audio.byteOffset, audio.byteLength)
      : new Uint8Array(audio);
    // The caller may reuse its buffer.
    return this.#send(view.slice());
  }

  /** Makes the text so far final. */
  flush(): Promise<void> {
    return this.#send('{"type":"flush"}');
  }

  /** Says that no more audio comes: the outstanding finals, `done`, and the end of the iteration follow. */
  finish(): Promise<void> {
    return this.#send('{"type":"finish"}');
  }

  /** Closes the socket at once. The iteration ends, after the messages that have come. */
  close(): void {
    this.#end(null);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TranscriptionMessage, void, undefined> {
    if (this.#reading) throw new TypeError('The transcription is being read already.');
    this.#reading = true;
    try {
      for (;;) {
        const message = this.#messages.shift();
        if (message !== undefined) yield message;
        else if (!this.#over) await new Promise<void>((resolve) => (this.#wake = resolve));
        else if (this.#failure === null) return;
        else throw this.#failure;
      }
    } finally {
      this.#reading = false;
    }
  }

  /**
   * A sender that does not wait learns of a failure from the iteration; its promise must not end the process for it.
   */
  #send(data: string | Uint8Array): Promise<void> {
    const sent = this.#sendWhenOpen(data);
    sent.catch(() => {});
    return sent;
  }

  async #sendWhenOpen(data: string | Uint8Array): Promise<void> {
    const socket = this.#over ? null : await this.#opening.catch(() => null);
    if (this.#failure !== null) throw this.#failure;
    if (this.#over) return;
    socket!.send(data);
    while (!this.#over && socket!.bufferedAmount > bufferedBytesMax)
      await pause(this.#requester.options.clock, lookMs, this.#options.signal);
  }

  /** The token is good until a socket has opened with it, so an attempt that failed is repeated with the same one. */
  async #open(body: object): Promise<Socket> {
    const requester = this.#requester;
    const call = {
      method: 'POST',
      path: '/transcription-tokens',
      body,
      budgets: ['tokens', 'requests'],
      ...this.#options,
    } as const;
    const { token } = await requester.json<{ token: string }>('transcription_token', call);
    const Class = await socketClass(requester.options.WebSocket);
    const url = socketAt(this.#server, `/transcription?token=${token}`);
    const patience = requester.patience('always');
    for (;;) {
      if (this.#over) throw this.#failure;
      try {
        return await this.#dial(Class, url);
      } catch (error) {
        if (!this.#over) await requester.backOff(error, patience, this.#options.signal);
      }
    }
  }

  #dial(Class: SocketClass, url: string): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = (this.#socket = new Class(url));
      const origin = url.replace(/(\w\/).*/, '$1');
      let opened = false;
      const failed = ({ error: cause }: { error?: unknown } = {}): void => {
        cancel();
        if (opened) this.#end(new ConnectionError('The socket was cut.', { answered: true, cause }));
        else reject(new ConnectionError(`The socket at ${origin} did not open.`, { origin, cause }));
      };
      const cancel = this.#requester.options.clock.after(this.#options.timeoutMs ?? openMs, () => {
        failed();
        socket.close();
      });
      socket.addEventListener('open', () => {
        cancel();
        opened = true;
        // Settings are a message, not a query: an error in a query is answered with a status that no browser shows.
        socket.send(JSON.stringify({ type: 'start', ...this.#settings }));
        resolve(socket);
      });
      socket.addEventListener('message', ({ data }: { data: unknown }) =>
        this.#take(parseJson(String(data)) as TranscriptionMessage),
      );
      // A close follows, but not from Node's own class where the upgrade was refused.
      socket.addEventListener('error', failed);
      socket.addEventListener('close', failed);
    });
  }

  #take(message: TranscriptionMessage | { type: 'error'; code: ErrorCode; message: string } | null): void {
    if (this.#over || message === null) return;
    if (message.type === 'error') return this.#end(codedError(message.code, message.message));
    const { encoding, sample_rate, silence_ms } = this.#settings;
    // The server sent it before our settings arrived.
    if (message.type === 'ready')
      Object.assign(message, encoding && { encoding }, sample_rate && { sample_rate }, silence_ms && { silence_ms });
    this.#messages.push(message);
    if (message.type === 'done') this.#end(null);
    else this.#wake?.();
  }

  readonly #stop = (): void => this.#end(this.#options.signal!.reason);

  #end(failure: unknown): void {
    if (this.#over) return;
    this.#options.signal?.removeEventListener('abort', this.#stop);
    this.#over = true;
    this.#failure = failure;
    this.#socket?.close();
    this.#wake?.();
  }
}
