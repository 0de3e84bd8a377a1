/** A client that keeps every byte of a stream as it came, events that were cut in the middle included. */
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { messageFor, type Said } from './words.ts';

export interface Place {
  readonly url: string;
  readonly key: string;
}

export class Listener {
  status = 0;
  bytes = 0;
  turnId = '';
  requestId = '';
  /** Error by which the connection was cut, or null. */
  error: string | null = null;
  /** Resolves when there is an answer, or there will be none. */
  readonly answered: Promise<void>;
  /** Resolves when nothing more will come. */
  readonly over: Promise<void>;
  /** Called after each piece that came. */
  onPiece: () => void = () => {};
  #text = '';
  readonly #leave: () => void;

  constructor({ url, key }: Place, path: string, body: object | null, headers: Readonly<Record<string, string>> = {}) {
    const sent = request(url + path, {
      method: body === null ? 'GET' : 'POST',
      agent: false,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    });
    this.#leave = () => sent.destroy();
    const response = new Promise<IncomingMessage | null>((resolve) => {
      sent.on('response', resolve);
      sent.on('error', ({ message }) => {
        this.error ??= message;
        resolve(null);
      });
    });
    this.answered = response.then((answer) => {
      this.status = answer?.statusCode ?? 0;
      this.turnId = String(answer?.headers['x-turn-id'] ?? '');
      this.requestId = String(answer?.headers['x-request-id'] ?? '');
    });
    this.over = response.then((answer) => (answer === null ? undefined : this.#read(answer)));
    sent.end(body === null ? undefined : JSON.stringify(body));
  }

  async #read(response: IncomingMessage): Promise<void> {
    const decoder = new TextDecoder();
    response.on('data', (bytes: Buffer) => {
      this.bytes += bytes.length;
      this.#text += decoder.decode(bytes, { stream: true });
      this.onPiece();
    });
    response.on('error', ({ message }) => (this.error ??= message));
    await new Promise<void>((resolve) => response.on('close', resolve));
  }

  leave(): void {
    this.#leave();
  }

  /** Resolves once the given number of bytes has come; false if the stream ends before. */
  reached(bytes: number): Promise<boolean> {
    return this.#once(() => this.bytes >= bytes);
  }

  /** Resolves once there is output. */
  heard(): Promise<boolean> {
    return this.#once(() => this.#text.includes('event: message.delta'));
  }

  #once(holds: () => boolean): Promise<boolean> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!holds()) return;
        // Each look reads the text anew, which grows for as long as the stream does.
        this.onPiece = () => {};
        resolve(true);
      };
      this.onPiece = look;
      look();
      void this.over.then(() => resolve(holds()));
    });
  }

  /** The answer as it came, where it is no stream. */
  get text(): string {
    return this.#text;
  }

  /** The output seen, including the part in an incomplete event. */
  get seen(): string {
    return outputOf(this.#text);
  }

  /** The name of the event that ended it, or null. */
  get ending(): string | null {
    return /event: (turn\.completed|turn\.aborted|error)\n[^\n]*\n?data: [^\n]*\n\n$/.exec(this.#text)?.[1] ?? null;
  }

  /** The code of an error, in a stream or instead of one. */
  get code(): string | null {
    return /"code":"(\w+)"/.exec(this.#text.slice(-2000))?.[1] ?? null;
  }
}

/** Returns the text of all deltas; of a cut delta, as much as can be read. */
export function outputOf(text: string): string {
  let output = '';
  for (const event of text.split('\n\n')) {
    const [, written = ''] =
      /^event: message\.delta\n(?:id: \d+\n)?data: \{"text":"((?:[^"\\]|\\(?:u[0-9a-f]{4}|[^u]))*)/m.exec(event) ?? [];
    output += JSON.parse(`"${written}"`) as string;
  }
  return output;
}

/** Tries of a turn that a store is too slow for, each half a second after the one before. */
const triesMax = 120;
const againMs = 500;

/**
 * Begins a turn that an experiment builds on. A chat that is refused with 503 has left nothing, and is sent again, as a
 * client would.
 */
export async function begun(place: Place, sessionId: string, said: Said): Promise<Listener> {
  for (let left = triesMax; ; left--) {
    const listener = talk(place, sessionId, said);
    await listener.answered;
    if (listener.status === 200) return listener;
    await listener.over;
    // The chat before it is withdrawn a moment after its answer.
    const isSlow = listener.status === 503 || listener.code === 'turn_in_progress';
    if (!isSlow || left === 1)
      throw new Error(`a turn is answered ${listener.status} ${listener.code ?? listener.error}`);
    await pause(againMs);
  }
}

/** Sends a message that the speaker understands. */
export const talk = (
  place: Place,
  sessionId: string,
  said: Said,
  headers?: Readonly<Record<string, string>>,
): Listener => new Listener(place, `/sessions/${sessionId}/chat`, { message: messageFor(said) }, headers);
