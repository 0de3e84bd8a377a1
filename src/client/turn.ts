/** A turn's reply as it streams, over cuts of the connection: each character once, then one end. */
import { ConnectionError, TurnFailedError, categoryOf } from './failure.ts';
import { mustBe, parseJson } from './http.ts';
import type { Patience } from './patience.ts';
import type { CallOptions, OnceOptions, Requester } from './requester.ts';
import { EventReader, type ServerEvent } from './stream.ts';
import type { ErrorCode, Feedback, ToolResult, TurnEvent, TurnRecord } from './types.ts';

export interface TurnOptions extends CallOptions {
  /** Yield only output after this many code points, as `turn.cursor` counts them. */
  after?: number | string | null;
}

/**
 * Iterate over it for its events, or await `text()`. Leaving the iteration leaves the turn running, and a later
 * iteration continues from `cursor`; `abort()` stops the turn. One iteration at a time.
 */
export class Turn implements AsyncIterable<TurnEvent> {
  /** Empty for a message that was accepted for a person. */
  readonly id: string;
  readonly sessionId: string;
  /** The id of this object's first request; null before it was answered. */
  requestId: string | null = null;
  /** The code points of output up to the last event given; null before the first. */
  cursor: number | null = null;
  readonly #requester: Requester;
  readonly #options: CallOptions;
  /** Cursor at which the caller wants to begin; null once an event has come. */
  #after: number | string | null;
  #reader: EventReader | null = null;
  #patience: Patience | null = null;
  #reading = false;
  #text = '';
  #failure: TurnFailedError | null = null;
  #ended = false;

  constructor(
    requester: Requester,
    sessionId: string,
    id: string,
    { after, ...options }: TurnOptions,
    reader: EventReader | null = null,
  ) {
    this.#requester = requester;
    this.#options = options;
    this.id = id;
    this.sessionId = sessionId;
    this.#after = after ?? null;
    this.cursor = this.#after === null ? null : Number(after);
    this.#reader = reader;
    this.requestId = reader?.requestId ?? null;
  }

  /**
   * Resolves with the assistant's whole text; for an aborted turn, with the text until then. Rejects with
   * `TurnFailedError` if the turn fails.
   */
  async text(): Promise<string> {
    for await (const _ of this);
    return this.#text;
  }

  /**
   * Stops the turn. Resolves with its record; an iteration gets `turn.aborted`. A turn that has ended stays as it is.
   */
  abort(options: CallOptions = {}): Promise<TurnRecord> {
    return abortTurn(this.#requester, this.sessionId, this.id, options);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, undefined> {
    if (this.#reading) throw new TypeError('The turn is being read already.');
    this.#reading = true;
    try {
      while (!this.#ended) {
        this.#reader ??= await this.#connect();
        const events = await this.#reader.next();
        if (events === null) await this.#cut();
        for (const event of events ?? []) {
          const fields = fieldsOf(event);
          if (fields === null) {
            await this.#cut();
            break;
          }
          const taken = this.#take(event, fields);
          if (taken !== null) yield taken;
          if (this.#ended) break;
        }
      }
      if (this.#failure !== null) throw this.#failure;
    } finally {
      this.#reading = false;
      this.#close();
    }
  }

  async #connect(): Promise<EventReader> {
    const resumed = this.#after === null && this.cursor !== null;
    const headers = resumed ? { ...eventStream, 'last-event-id': String(this.cursor) } : eventStream;
    this.#patience ??= this.#requester.patience('stream');
    const call = {
      path: `${pathOf(this.sessionId, this.id)}/events`,
      query: { after: this.#after },
      headers,
      ...this.#options,
    };
    const reader = await this.#requester.run(call, this.#patience, async (answer) => {
      await mustBe(answer, 'text/event-stream');
      return new EventReader(answer, this.#requester.options);
    });
    this.requestId ??= reader.requestId;
    return reader;
  }

  /** The connection ended before the turn did, by a cut, by silence or because the caller left. */
  async #cut(): Promise<void> {
    this.#close();
    const { signal } = this.#options;
    if (signal?.aborted) throw signal.reason;
    this.#patience ??= this.#requester.patience('stream');
    if (!this.#patience.cut())
      await this.#requester.backOff(
        new ConnectionError('The stream was cut.', { answered: true }),
        this.#patience,
        signal,
      );
  }

  /** Null for an event of a kind that is not known here. */
  #take({ event = '', id }: ServerEvent, fields: Record<string, unknown>): TurnEvent | null {
    this.#patience = null;
    this.#after = null;
    if (id !== undefined) this.cursor = Number(id);
    if (event === 'error') this.#failure = this.#failed(fields as { code: ErrorCode; message: string });
    if (event === 'message.delta') this.#text += fields['text'] as string;
    this.#ended = ends.test(event);
    return events.test(event) ? ({ type: event, ...fields } as TurnEvent) : null;
  }

  #failed({ code, message }: { code: ErrorCode; message: string }): TurnFailedError {
    const requestId = this.#reader?.requestId ?? null;
    return new TurnFailedError(message, { code, type: categoryOf(code), status: null, requestId, partial: this.#text });
  }

  #close(): void {
    this.#reader?.close();
    this.#reader = null;
  }
}

const eventStream = { accept: 'text/event-stream' };
const ends = /^(turn\.(comple|abor)ted|message\.accepted|error)$/;
const events = /^(turn\.(star|comple|abor)ted|tool\.(started|ended)|message\.(delta|accepted))$/;

/** Returns null for data that is no JSON object, which no turn's event is. */
function fieldsOf({ data }: ServerEvent): Record<string, unknown> | null {
  const fields = parseJson(data);
  return typeof fields === 'object' ? (fields as Record<string, unknown> | null) : null;
}

export const sessionPath = (sessionId: string): string => `/sessions/${encodeURIComponent(sessionId)}`;

const pathOf = (sessionId: string, turnId: string): string =>
  `${sessionPath(sessionId)}/turns/${encodeURIComponent(turnId)}`;

export const abortTurn = (
  requester: Requester,
  sessionId: string,
  turnId: string,
  options: CallOptions,
): Promise<TurnRecord> =>
  requester.json('turn', { method: 'POST', path: `${pathOf(sessionId, turnId)}/abort`, ...options });

export const rateTurn = (
  requester: Requester,
  [sessionId, turnId]: readonly [string, string],
  feedback: Pick<Feedback, 'rating'> & { comment?: string },
  options: CallOptions,
): Promise<TurnRecord> =>
  requester.json('turn', {
    method: 'PUT',
    path: `${pathOf(sessionId, turnId)}/feedback`,
    body: feedback,
    ...options,
  });

export const unrateTurn = (
  requester: Requester,
  sessionId: string,
  turnId: string,
  options: CallOptions,
): Promise<void> =>
  requester.run(
    { method: 'DELETE', path: `${pathOf(sessionId, turnId)}/feedback`, ...options },
    requester.patience('always'),
    async (answer) => answer.close(),
  );

/**
 * Milliseconds for a chat without a key: a second message would begin a second turn, so the first is given the minute
 * that the service allows a model, and some more.
 */
const unkeyedTimeoutMs = 75_000;

/**
 * Sends a message, or the results of calls that wait. Resolves once the assistant has begun to answer; throws a failure
 * before that.
 */
export function sendMessage(
  requester: Requester,
  sessionId: string,
  message: string | readonly ToolResult[],
  { idempotencyKey, ...options }: OnceOptions,
): Promise<Turn> {
  const path = `${sessionPath(sessionId)}/chat`;
  const call = {
    method: 'POST',
    path,
    headers: eventStream,
    body: { [typeof message === 'string' ? 'message' : 'tool_results']: message },
    budgets: ['turns', 'requests'],
    unkeyedTimeoutMs,
    ...options,
  } as const;
  return requester.runOnce(call, idempotencyKey, async (answer) => {
    // A message that is accepted for a person has no turn.
    const id = answer.response.headers.get('x-turn-id') ?? '';
    await mustBe(answer, 'text/event-stream');
    return new Turn(requester, sessionId, id, options, new EventReader(answer, requester.options));
  });
}
