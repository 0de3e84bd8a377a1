/** The events of one connection, until they end, are cut or fall silent. */
import { createParser } from 'eventsource-parser';
import type { Clock } from './clock.ts';
import type { Answer } from './http.ts';
import { onWake } from './wake.ts';

export interface ServerEvent {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly data: string;
}

/** A connection that has been quiet for so long when page or network come back is taken for dead. */
const quietMs = 1000;

export class EventReader {
  readonly #answer: Answer;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #parser = createParser({
    onEvent: (event) => void this.#events.push(event),
    onComment: (text) => {
      const start = /^after (\d{1,15})$/.exec(text);
      if (start !== null) this.startsAfter = Number(start[1]);
    },
  });
  /** The number after which the events of a session begin, as the server says at once; null before it does. */
  startsAfter: number | null = null;
  #events: ServerEvent[] = [];
  /** When the read began that waits for bytes; null while none does. */
  #readingSince: number | null = null;
  /** Stops the check for silence; null while there is no check. */
  #unarm: (() => void) | null = null;
  #unwatch: (() => void) | null = null;

  /** Takes the connection over: it lasts until `close` or the abort of the call's signal. */
  constructor(answer: Answer, { clock, silenceMs }: { readonly clock: Clock; readonly silenceMs: number }) {
    this.#answer = answer;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#reader = answer.response.body!.getReader();
    answer.keep();
    answer.signal.addEventListener('abort', () => void this.#reader.cancel().catch(() => {}), { once: true });
  }

  get requestId(): string | null {
    return this.#answer.response.headers.get('x-request-id');
  }

  /**
   * Resolves with the events of the next bytes, maybe an empty list, since a comment is bytes as well. Null at the end,
   * for any cause.
   */
  async next(): Promise<ServerEvent[] | null> {
    this.#readingSince = this.#clock.now();
    if (this.#unarm === null) this.#arm(this.#silenceMs);
    this.#unwatch ??= onWake(() => {
      if (this.#quietMs >= quietMs) this.close();
    });
    try {
      const { value } = await this.#reader.read();
      if (value === undefined) return null;
      this.#events = [];
      this.#parser.feed(this.#decoder.decode(value, { stream: true }));
      return this.#events;
    } catch {
      return null;
    } finally {
      this.#readingSince = null;
    }
  }

  /** Also ends a read that waits. */
  close(): void {
    this.#unarm?.();
    this.#unwatch?.();
    this.#answer.close();
  }

  get #quietMs(): number {
    return this.#readingSince === null ? 0 : this.#clock.now() - this.#readingSince;
  }

  /** One timer for many reads, not one for each: when it is due, it checks how long the present read has waited. */
  #arm(ms: number): void {
    this.#unarm = this.#clock.after(ms, () => {
      this.#unarm = null;
      if (this.#readingSince === null) return;
      const left = this.#silenceMs - this.#quietMs;
      if (left <= 0) this.close();
      else this.#arm(left);
    });
  }
}
