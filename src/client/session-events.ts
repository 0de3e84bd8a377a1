/** The events of a session as they happen, over cuts of the connection: each event once, in order. */
import { ConnectionError } from './failure.ts';
import { mustBe, parseJson } from './http.ts';
import type { Patience } from './patience.ts';
import type { CallOptions, Requester } from './requester.ts';
import { EventReader } from './stream.ts';
import { sessionPath } from './turn.ts';
import type { SessionEvent } from './types.ts';

export interface SessionEventsOptions extends CallOptions {
  /** Yield only events after this number, as `events.cursor` counts them; 0 for all events. The default is from now on. */
  after?: number | string | null;
}

/** Milliseconds after which a connection counts as one that worked, also if it brought no event. */
const steadyMs = 10_000;

/**
 * Iterate over it for the events of the session, until `session.ended`. A later iteration continues from `cursor`. One
 * iteration at a time.
 */
export class SessionEvents implements AsyncIterable<SessionEvent> {
  readonly sessionId: string;
  /** The number of the last event given, or the one after which the stream began; null before it has opened. */
  cursor: number | null;
  readonly #requester: Requester;
  readonly #options: CallOptions;
  #reader: EventReader | null = null;
  #patience: Patience | null = null;
  #reading = false;
  #ended = false;

  constructor(requester: Requester, sessionId: string, { after, ...options }: SessionEventsOptions) {
    this.#requester = requester;
    this.#options = options;
    this.sessionId = sessionId;
    this.cursor = after == null ? null : Number(after);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent, void, undefined> {
    if (this.#reading) throw new TypeError('The events are being read already.');
    this.#reading = true;
    const { clock } = this.#requester.options;
    try {
      while (!this.#ended) {
        this.#reader = await this.#connect();
        const connectedAt = clock.now();
        for (let events = await this.#next(); events !== null; events = await this.#next()) {
          this.cursor ??= this.#reader?.startsAfter ?? null;
          for (const { event, id, data } of events) {
            this.#patience = null;
            if (id !== undefined) this.cursor = Number(id);
            this.#ended = event === 'session.ended';
            const fields = parseJson(data);
            if (names.test(event ?? '')) yield eventOf(event!, fields);
          }
        }
        if (clock.now() - connectedAt > steadyMs) this.#patience = null;
        if (!this.#ended) await this.#cut();
      }
    } finally {
      this.#reading = false;
      this.#reader?.close();
    }
  }

  async #next() {
    return this.#ended ? null : (this.#reader?.next() ?? null);
  }

  /** Null if no event is left of a session that has ended. */
  async #connect(): Promise<EventReader | null> {
    this.#patience ??= this.#requester.patience('stream');
    const call = {
      path: `${sessionPath(this.sessionId)}/events`,
      query: { after: this.cursor },
      headers: { accept: 'text/event-stream' },
      ...this.#options,
    };
    return this.#requester.run(call, this.#patience, async (answer) => {
      if (answer.response.status === 204) {
        this.#ended = true;
        return null;
      }
      await mustBe(answer, 'text/event-stream');
      return new EventReader(answer, this.#requester.options);
    });
  }

  async #cut(): Promise<void> {
    this.#reader?.close();
    const { signal } = this.#options;
    if (signal?.aborted) throw signal.reason;
    this.#patience ??= this.#requester.patience('stream');
    if (this.#patience.cut()) return;
    const error = new ConnectionError('The stream was cut.', { answered: true });
    await this.#requester.backOff(error, this.#patience, signal);
  }
}

const names = /^(message\.created|turn\.(started|ended)|attendance\.changed|session\.ended)$/;

/** A message is the event's own field; other events have theirs beside the type. */
const eventOf = (type: string, fields: unknown): SessionEvent =>
  (type === 'message.created' ? { type, message: fields } : { type, ...(fields as object) }) as SessionEvent;
