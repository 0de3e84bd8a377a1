/** The conversation API (contract 6 and 7) for one session's talk: patient requests and turns whose stream survives a cut. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Clock } from '../clock.ts';
import { errors, type Retry } from '../errors.ts';
import { limits } from '../limits.ts';
import { ApiFailure, CommandFailure, ConnectionFailure } from './failure.ts';
import { exchange, send, type Answer, type Call } from './http.ts';
import type { List, PublicAssistantRecord, SessionRecord } from './records.ts';

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

/** What a turn tells while it runs. */
export interface TurnListener {
  /** The turn exists; its id is what an abort names. */
  started(turnId: string): void;
  event(event: StreamEvent, requestId: string | null): void;
}

export interface Visitor {
  readonly [name: string]: string | number | boolean;
}

/** Told every second of a wait, with the whole seconds left; 0 when it is over. */
export type Waiting = (failure: Error, secondsLeft: number) => void;

const terminal = new Set(['turn.completed', 'turn.aborted', 'error']);

export class Conversation {
  readonly #base: string;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #waiting: Waiting;

  constructor(url: string, key: string, clock: Clock, waiting: Waiting) {
    this.#base = url;
    this.#key = key;
    this.#clock = clock;
    this.#waiting = waiting;
  }

  async assistant(id: string): Promise<PublicAssistantRecord> {
    return (await this.#answer<PublicAssistantRecord>('GET', `/assistants/${encodeURIComponent(id)}`)).body;
  }

  /** All assistants that the key reaches. */
  async assistants(): Promise<PublicAssistantRecord[]> {
    const found: PublicAssistantRecord[] = [];
    for (let after = ''; ; ) {
      const { body } = await this.#answer<List<PublicAssistantRecord>>('GET', `/assistants?limit=${limits.listMax}${after}`);
      found.push(...body.data);
      if (!body.has_more || body.next_cursor === null) return found;
      after = `&after=${encodeURIComponent(body.next_cursor)}`;
    }
  }

  async createSession(assistantId: string, visitor: Visitor): Promise<SessionRecord> {
    return (await this.#answer<SessionRecord>('POST', '/sessions', { assistant_id: assistantId, visitor })).body;
  }

  async session(id: string, signal?: AbortSignal): Promise<SessionRecord> {
    return (await this.#answer<SessionRecord>('GET', `/sessions/${encodeURIComponent(id)}`, undefined, signal)).body;
  }

  /** Ends the session; neither waits nor tries again. */
  async end(sessionId: string): Promise<void> {
    await exchange(this.#call('POST', `/sessions/${encodeURIComponent(sessionId)}/end`), this.#clock);
  }

  async abort(sessionId: string, turnId: string, signal: AbortSignal): Promise<void> {
    await this.#answer('POST', `${turnPath(sessionId, turnId)}/abort`, undefined, signal);
  }

  /**
   * Sends a message and follows the reply to its terminal event, over cuts of the connection. Throws the failure that
   * came before the stream, or the one that kept it from being resumed; an abort of the signal as its reason.
   */
  async chat(sessionId: string, message: string, listener: TurnListener, signal: AbortSignal): Promise<void> {
    const call = this.#call('POST', `/sessions/${encodeURIComponent(sessionId)}/chat`, { message }, signal);
    let response = await this.#patiently(call, () => send(call));
    const turnId = response.headers.get('x-turn-id');
    if (turnId === null) throw new CommandFailure('The reply names no turn: what answers is not parley.');
    listener.started(turnId);
    let cursor: string | null = null;
    let cuts = 0;
    for (;;) {
      const ended = await this.#follow(response, signal, (event) => {
        cursor = event.id ?? cursor;
        cuts = 0;
        listener.event(event, response.headers.get('x-request-id'));
      });
      if (ended) return;
      if (cuts > 0) await this.#backOff(cuts, new ConnectionFailure('The stream was cut.', true), signal);
      response = await this.#resume(sessionId, turnId, cursor, cuts++, signal);
    }
  }

  /** Opens the turn's stream again behind the last event seen. A stream that ends at once again and again counts as a failure. */
  async #resume(sessionId: string, turnId: string, cursor: string | null, cuts: number, signal: AbortSignal): Promise<Response> {
    const call = this.#call('GET', `${turnPath(sessionId, turnId)}/events`, undefined, signal);
    const headers = cursor === null ? call.headers : { ...call.headers, 'last-event-id': cursor };
    if (cuts >= limits.commandResumesMax) throw new ConnectionFailure('The stream was cut and could not be resumed.', true);
    return this.#patiently(call, () => send({ ...call, headers }), limits.commandResumesMax);
  }

  /** Reads one response's events: true after the terminal one, false if the connection was cut or fell silent before. */
  async #follow(response: Response, signal: AbortSignal, onEvent: (event: StreamEvent) => void): Promise<boolean> {
    let ended = false;
    const parser = createParser({
      onEvent: (message) => {
        if (ended) return;
        const event = streamEvent(message);
        ended = terminal.has(event.event);
        onEvent(event);
      },
    });
    const decoder = new TextDecoder();
    const reader = response.body!.getReader();
    try {
      while (!ended) {
        const chunk = await this.#chunk(reader);
        if (chunk === null) break;
        parser.feed(decoder.decode(chunk, { stream: true }));
      }
    } finally {
      void reader.cancel().catch(() => {});
    }
    if (!ended) signal.throwIfAborted();
    return ended;
  }

  /** The next bytes, or null if the connection ended, was cut or fell silent. */
  async #chunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | null> {
    const silence = this.#clock.after(limits.streamSilenceMsMax, () => void reader.cancel().catch(() => {}));
    const { value } = await reader.read().catch(() => ({ value: undefined })).finally(() => silence.cancel());
    return value ?? null;
  }

  #answer<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Answer<T>> {
    const call = this.#call(method, path, body, signal);
    return this.#patiently(call, () => exchange<T>(call, this.#clock));
  }

  #call(method: string, path: string, body?: unknown, signal?: AbortSignal): Call {
    return { method, url: this.#base + path, headers: { authorization: `Bearer ${this.#key}` }, body, ...(signal ? { signal } : {}) };
  }

  /** Sends until an answer comes that is not worth waiting for (specification 7, "Retrying"; contract 10). */
  async #patiently<T>(call: Call, attempt: () => Promise<T>, attemptsMax: number = limits.commandAttemptsMax): Promise<T> {
    let waits = 0;
    let attempts = 1;
    let faults = 0;
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (error instanceof ApiFailure && error.status === 429 && waits++ < limits.commandWaitsMax) {
          await this.#wait(Math.max(1, error.retryAfterSeconds ?? 1), error, call.signal);
        } else if (attempts < attemptsMax && repeatable(call, error) && !(isFault(error) && ++faults >= limits.commandAttemptsMax)) {
          await this.#backOff(attempts++, error as Error, call.signal);
        } else {
          throw error;
        }
      }
    }
  }

  async #wait(seconds: number, failure: Error, signal: AbortSignal | undefined): Promise<void> {
    try {
      for (let left = seconds; left > 0; left--) {
        this.#waiting(failure, left);
        await this.#pause(1000, signal);
      }
    } finally {
      this.#waiting(failure, 0);
    }
  }

  /** Exponential backoff with full jitter, which the fraction of the microsecond at hand provides. */
  async #backOff(attempt: number, failure: Error, signal: AbortSignal | undefined): Promise<void> {
    const ceiling = Math.min(limits.commandBackoffMs * 2 ** (attempt - 1), limits.commandBackoffMsMax);
    const jitter = (this.#clock.monotonic() * 1000) % 1;
    this.#waiting(failure, Math.ceil(ceiling / 1000));
    await this.#pause(ceiling * jitter, signal).finally(() => this.#waiting(failure, 0));
  }

  #pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stop = (): void => {
        timer.cancel();
        reject(signal?.reason as Error);
      };
      const timer = this.#clock.after(milliseconds, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}

const turnPath = (sessionId: string, turnId: string): string => `/sessions/${encodeURIComponent(sessionId)}/turns/${encodeURIComponent(turnId)}`;

/** What begins a session or a turn is sent again only if it never arrived: a second one would do its work twice. Nothing else would. */
function repeatable({ method, url }: Call, error: unknown): boolean {
  const once = method === 'POST' && /\/(?:sessions|chat)$/.test(url);
  if (error instanceof ConnectionFailure) return !error.sent || !once;
  return error instanceof ApiFailure && !once && retryOf(error).startsWith('backoff');
}

/** What gets three attempts of its own, however many others fail in between. */
const isFault = (error: unknown): boolean => error instanceof ApiFailure && retryOf(error) === 'backoff_thrice';

/** As the error table has it; what it does not have is left at that. */
const retryOf = ({ code, status }: ApiFailure): Retry => Object.values(errors).find((row) => row.code === code && row.status === status)?.retry ?? 'never';

function streamEvent({ event = 'message', id, data }: EventSourceMessage): StreamEvent {
  try {
    return { event, id: id ?? null, data: JSON.parse(data) };
  } catch {
    throw new CommandFailure('The reply is not the stream that it should be: what answers is not parley.');
  }
}
