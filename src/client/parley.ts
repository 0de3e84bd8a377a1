/** The client of the API (contract 10). */
import { withoutSlashes } from './address.ts';
import type { CallToken } from './call-messages.ts';
import { realClock, type Clock } from './clock.ts';
import { ConnectionError } from './failure.ts';
import { mustBe, type Fetch } from './http.ts';
import { AwaitablePages, given, Pages } from './pages.ts';
import { Requester, type CallOptions, type OnceOptions, type Retry } from './requester.ts';
import type { SocketClass } from './socket.ts';
import type { Speech } from './speech.ts';
import { SessionEvents, type SessionEventsOptions } from './session-events.ts';
import { Transcription, type TranscribeOptions } from './transcription.ts';
import { abortTurn, rateTurn, sendMessage, sessionPath, Turn, unrateTurn, type TurnOptions } from './turn.ts';
import type {
  Assistant,
  Link,
  Message,
  NewSession,
  NewSpeech,
  NewTranscription,
  NewVisitorSession,
  NewVisitorSpeech,
  NewVisitorTranscription,
  PageQuery,
  Session,
  ToolResult,
  SessionsQuery,
  Feedback,
  TurnRecord,
  Usage,
  UsageQuery,
  Visitor,
  Voice,
  VoicesQuery,
} from './types.ts';
import type { LinkOptions } from './visit.ts';
import { inBrowser } from './wake.ts';

export interface ParleyOptions {
  /** Address of the service, such as `https://chat.example.com`. */
  url: string;
  /** An API key. */
  key?: string;
  /**
   * Instead of a key: the visitor's way in, by a public link. Sessions, turns and voice are then the visitor's; the
   * rest of the API is not available.
   */
  link?: string | LinkOptions;
  /** Allows a key in a browser, where everybody can read it. */
  allowKeyInBrowser?: boolean;
  /** Instead of the runtime's own. */
  fetch?: Fetch;
  /** A WebSocket class in place of the runtime's, for `transcribe`, such as the one of the package `ws`. */
  WebSocket?: SocketClass;
  /** Sent with every request; a socket takes none. */
  headers?: Record<string, string>;
  /** For one attempt of a call: until its head came, and all of an answer that is no stream. 30,000 by default. */
  timeoutMs?: number;
  /** A stream without a byte for so long is resumed. 45,000 by default, three of the service's heartbeats. */
  silenceMs?: number;
  /**
   * `auto` (default): `sessions.create` and `sessions.chat` are sent with a key, so that a retry does nothing twice.
   * `off`: without, and sent again only if no answer came.
   */
  idempotency?: 'auto' | 'off';
  /** A longer `Retry-After` is thrown at once. 60 by default. */
  retryAfterMaxSeconds?: number;
  /** Called before each wait for another attempt. */
  onRetry?: (retry: Retry) => void;
  /** Time and chance, for tests. */
  clock?: Clock;
}

export class Parley {
  readonly assistants: AssistantsResource;
  readonly sessions: SessionsResource;
  readonly turns: TurnsResource;
  readonly #requester: Requester;

  /** Address of the server, without a slash at its end. */
  get url(): string {
    return this.#requester.options.url;
  }

  /** Throws a `TypeError` for options that contradict each other. */
  constructor(options: ParleyOptions) {
    const { key, url, link } = options;
    if (key !== undefined && link !== undefined) throw new TypeError('Give `key` or `link`.');
    if (!/^https?:\/\/[^/]/.test(url)) throw new TypeError('`url` must be an http or https address.');
    if (key !== undefined && !options.allowKeyInBrowser && inBrowser()) {
      throw new TypeError('Everybody who opens the page can read its API key. `allowKeyInBrowser` allows it.');
    }
    this.#requester = new Requester({
      url: withoutSlashes(url),
      headers: { ...options.headers, ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      fetch: options.fetch,
      timeoutMs: options.timeoutMs,
      silenceMs: options.silenceMs ?? 45_000,
      idempotency: options.idempotency ?? 'auto',
      retryAfterMaxSeconds: options.retryAfterMaxSeconds ?? 60,
      onRetry: options.onRetry,
      clock: options.clock ?? realClock,
      WebSocket: options.WebSocket,
      link: typeof link === 'string' ? { slug: link } : (link ?? null),
    });
    this.assistants = new AssistantsResource(this.#requester);
    this.sessions = new SessionsResource(this.#requester);
    this.turns = new TurnsResource(this.#requester);
  }

  /** For a `link`: returns the assistant's public description. */
  async about(): Promise<Link> {
    return (await this.#requester.visit()).about();
  }

  /**
   * For a `link`: returns the visitor, with a fresh token. The first call that needs a visitor creates one by itself.
   */
  async visitor(): Promise<Visitor> {
    return (await this.#requester.visit()).renew();
  }

  /** Returns the usage in a window of at most 90 days, by day or hour. */
  usage(query: UsageQuery & CallOptions = {}, options: CallOptions = {}): Promise<Usage> {
    const { signal, timeoutMs, ...parameters } = { ...query, ...options };
    return this.#requester.json('usage', { path: '/usage', query: parameters, ...given({ signal, timeoutMs }) });
  }

  /** Speaks a text of up to 1000 characters. Resolves once the first sentence is spoken. */
  async speech(text: (NewSpeech | NewVisitorSpeech) & CallOptions, options: CallOptions = {}): Promise<Speech> {
    const { speech } = await import('./speech.ts');
    return speech(this.#requester, { ...text, ...options }, { given, mustBe, ConnectionError });
  }

  /** The voices that an assistant can speak with: `await` gives the list object. */
  voices(query: VoicesQuery & CallOptions, options: CallOptions = {}): AwaitablePages<Voice, VoicesQuery> {
    return new AwaitablePages(this.#requester, '/voices', { ...query, ...options });
  }

  /** Opens a socket that takes audio, at the pace in which it is spoken, and yields its transcription. */
  transcribe(
    settings: (NewTranscription | NewVisitorTranscription) & TranscribeOptions,
    options: TranscribeOptions = {},
  ): Transcription {
    return new Transcription(this.#requester, { ...settings, ...options });
  }
}

class AssistantsResource {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /** The assistants that the key may use, newest first. */
  list(query: PageQuery & CallOptions = {}, options: CallOptions = {}): Pages<Assistant> {
    return new Pages(this.#requester, '/assistants', { ...query, ...options });
  }

  get(id: string, options: CallOptions = {}): Promise<Assistant> {
    return this.#requester.json('assistant', { path: `/assistants/${encodeURIComponent(id)}`, ...options });
  }
}

class SessionsResource {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  create(session: NewSession | NewVisitorSession, { idempotencyKey, ...options }: OnceOptions = {}): Promise<Session> {
    // A link's limits refuse a visitor's next session or message, never a read.
    const budgets = this.#requester.options.link && (['turns', 'requests'] as const);
    return this.#requester.jsonOnce(
      'session',
      { method: 'POST', path: '/sessions', body: session, ...(budgets && { budgets }), ...options },
      idempotencyKey,
    );
  }

  list(query: SessionsQuery & CallOptions = {}, options: CallOptions = {}): Pages<Session, SessionsQuery> {
    return new Pages(this.#requester, '/sessions', { ...query, ...options });
  }

  get(id: string, options: CallOptions = {}): Promise<Session> {
    return this.#requester.json('session', { path: sessionPath(id), ...options });
  }

  /** Ends the session, and aborts the turn in flight. A session that has ended or expired stays as it is. */
  end(id: string, options: CallOptions = {}): Promise<Session> {
    return this.#requester.json('session', { method: 'POST', path: `${sessionPath(id)}/end`, ...options });
  }

  /** Asks for a person; a session that waits for one or has one stays as it is. `reason`: at most 500 characters. */
  ask(id: string, body: { reason?: string } = {}, options: CallOptions = {}): Promise<Session> {
    return this.#requester.json('session', { method: 'POST', path: `${sessionPath(id)}/ask`, body, ...options });
  }

  /** Oldest first. */
  transcript(id: string, query: PageQuery & CallOptions = {}, options: CallOptions = {}): Pages<Message> {
    return new Pages(this.#requester, `${sessionPath(id)}/transcript`, { ...query, ...options });
  }

  /**
   * The events of the session from now on, or from `after` on, until it ends. No request is sent before they are read.
   */
  events(id: string, options: SessionEventsOptions = {}): SessionEvents {
    return new SessionEvents(this.#requester, id, options);
  }

  /**
   * Returns a token that opens one call on the session, within a minute: for `parley-client/call`, also in a browser
   * that has no key.
   */
  callToken(id: string, options: CallOptions = {}): Promise<CallToken> {
    return this.#requester.json('call_token', {
      method: 'POST',
      path: '/call-tokens',
      body: { session_id: id },
      budgets: ['tokens', 'requests'],
      ...options,
    });
  }

  /**
   * Sends a message of up to 8000 characters. Resolves once the assistant has begun to answer; throws a failure before
   * the stream.
   */
  chat(id: string, message: string | readonly ToolResult[], options: OnceOptions = {}): Promise<Turn> {
    return sendMessage(this.#requester, id, message, options);
  }
}

class TurnsResource {
  readonly #requester: Requester;

  constructor(requester: Requester) {
    this.#requester = requester;
  }

  /**
   * A turn again, from its beginning or from `after` on, even if it has ended. No request is sent before it is read.
   */
  resume(sessionId: string, turnId: string, options: TurnOptions = {}): Turn {
    return new Turn(this.#requester, sessionId, turnId, options);
  }

  /**
   * Stops a turn for all its readers. Resolves with its record; its readers get `turn.aborted`. A turn that has ended
   * stays as it is.
   */
  abort(sessionId: string, turnId: string, options: CallOptions = {}): Promise<TurnRecord> {
    return abortTurn(this.#requester, sessionId, turnId, options);
  }

  /** Rates the reply of a turn that has ended, in place of an earlier rating. Resolves with the turn's record. */
  rate(
    sessionId: string,
    turnId: string,
    rating: Feedback['rating'],
    comment?: string,
    options: CallOptions = {},
  ): Promise<TurnRecord> {
    const feedback = { rating, ...(comment !== undefined && { comment }) };
    return rateTurn(this.#requester, [sessionId, turnId], feedback, options);
  }

  /** Removes the rating of a turn's reply, if there is one. */
  unrate(sessionId: string, turnId: string, options: CallOptions = {}): Promise<void> {
    return unrateTurn(this.#requester, sessionId, turnId, options);
  }
}
