/** What the providers over HTTP share: sending, reading an event stream or one JSON body, and ending exactly once. */
import { StringDecoder } from 'node:string_decoder';
import { createParser } from 'eventsource-parser';
import type { EventSourceParser } from 'eventsource-parser';
import { limits } from '../limits.ts';
import type { ModelCall, ModelFailure, ModelSink, ModelUsage } from '../model.ts';
import { templateOf, textBy } from './template.ts';
import type { Template } from './template.ts';
import type { ProviderCall, ProviderHttp, ProviderListener, ProviderPost } from './http.ts';

/** A JSON object of unknown make-up. */
export type Json = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The member as an object; an empty one where it is anything else. */
export const objectAt = (json: Json, key: string): Json => {
  const value = json[key];
  return isObject(value) ? value : {};
};

/** The member as a whole number from 0 up, else null. */
export const countAt = (json: Json, key: string): number | null => {
  const value = json[key];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null;
};

/** Text as such, or the text parts of a list of content parts; of anything else none. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  let text = '';
  for (const part of content) if (isObject(part) && part['type'] === 'text' && typeof part['text'] === 'string') text += part['text'];
  return text;
}

/** What an event or a whole answer may say. */
export interface Teller {
  /** A piece of the answer; an empty one is nothing. */
  text(piece: string): void;
  /** Token counts so far: the newest count, since some endpoints send them with every event. */
  usage(usage: ModelUsage): void;
  /** All of the text has come: a connection that ends from here on cuts nothing. */
  complete(): void;
  /** The answer is over. */
  finish(): void;
  /** What the provider says cannot be used: nothing more is wanted of it. */
  fail(failure: ModelFailure): void;
}

/** How a provider says things on the wire. */
export interface Dialect {
  /** The data that closes a stream without being JSON. */
  readonly done: string | null;
  /** One event of the stream. */
  event(answer: Teller, event: Json): void;
  /** A whole answer, from an endpoint that does not stream. */
  whole(answer: Teller, body: Json): void;
}

/** The requests to try, from the first: the next one only when the one before was answered with 400 or 422. */
export interface Attempts {
  post(attempt: number): ProviderPost | null;
  accepted(attempt: number): void;
}

/** Sends the request and passes what the provider says to the sink. */
export function streamAnswer(http: ProviderHttp, dialect: Dialect, attempts: Attempts, sink: ModelSink): ModelCall {
  return new Answer(http, dialect, attempts, sink);
}

/** An answer while it comes in. */
class Answer implements ProviderListener, ModelCall, Teller {
  readonly #http: ProviderHttp;
  readonly #dialect: Dialect;
  readonly #attempts: Attempts;
  readonly #sink: ModelSink;
  readonly #decoder = new StringDecoder('utf8');
  #call: ProviderCall | null = null;
  #attempt = -1;
  #parser: EventSourceParser | null = null;
  #whole = '';
  #usage: ModelUsage | null = null;
  #template: Template | null = null;
  /** Pieces that were read without a template. */
  #read = 0;
  #settled = false;
  #complete = false;

  constructor(http: ProviderHttp, dialect: Dialect, attempts: Attempts, sink: ModelSink) {
    this.#http = http;
    this.#dialect = dialect;
    this.#attempts = attempts;
    this.#sink = sink;
    this.#next();
  }

  text(piece: string): void {
    if (this.#settled || piece === '') return;
    this.#call?.outputBegan();
    this.#sink.text(piece);
  }

  usage(usage: ModelUsage): void {
    this.#usage = usage;
  }

  complete(): void {
    this.#complete = true;
  }

  finish(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#call?.release();
    if (this.#usage !== null) this.#sink.usage(this.#usage);
    this.#sink.end();
  }

  fail(failure: ModelFailure): void {
    if (this.#settled) return;
    this.#call?.cancel();
    this.#settle(failure);
  }

  cancel(): void {
    this.#settled = true;
    this.#call?.cancel();
  }

  head(contentType: string, contentEncoding: string): void {
    this.#attempts.accepted(this.#attempt);
    if (contentEncoding !== '' && contentEncoding !== 'identity') return this.fail('malformed');
    if (contentType.includes('json')) return;
    if (!streamTypes.test(contentType)) return this.fail('malformed');
    this.#parser = createParser({
      maxBufferSize: limits.providerEventCharactersMax,
      onEvent: ({ event, data }) => this.#event(event, data),
      onError: ({ type }) => type === 'max-buffer-size-exceeded' && this.fail('malformed'),
    });
  }

  data(chunk: Buffer): void {
    // A character may be split between two chunks: the decoder holds its first bytes back.
    const text = this.#decoder.write(chunk);
    if (this.#parser !== null) return this.#parser.feed(text);
    this.#whole += text;
    if (this.#whole.length > limits.providerEventCharactersMax) this.fail('malformed');
  }

  ended(): void {
    if (this.#parser !== null) return this.#complete ? this.finish() : this.fail('cut');
    const body = parse(this.#whole);
    if (body === null) this.fail('malformed');
    else this.#dialect.whole(this, body);
  }

  failed(failure: ModelFailure, status: number | null): void {
    if (this.#complete) this.finish();
    else if (!((status === 400 || status === 422) && this.#next())) this.#settle(failure);
  }

  #settle(failure: ModelFailure): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#sink.failed(failure);
  }

  #next(): boolean {
    const post = this.#attempts.post(++this.#attempt);
    if (post !== null) this.#call = this.#http.post(post, this);
    return post !== null;
  }

  #event(name: string | undefined, data: string): void {
    if (this.#settled || data === '') return;
    if (name === 'error') return this.fail('provider_error');
    const known = this.#template === null ? null : textBy(this.#template, data);
    if (known !== null) return this.text(known);
    if (data === this.#dialect.done) return this.finish();
    const text = read(this.#dialect, data, this);
    // An answer of one piece is not worth a template, nor is a stream whose events keep differing.
    if (text === null || ++this.#read === 1 || this.#read > templatesMax) return;
    this.#template = templateOf(data, text, (other) => read(this.#dialect, other, null)) ?? this.#template;
  }
}

/** Templates that are tried in one answer. */
const templatesMax = 5;

/** Hears what an event says, and passes it on. */
class Hearing implements Teller {
  /** Its text; null once it has said anything else. */
  said: string | null = '';
  readonly #teller: Teller | null;

  constructor(teller: Teller | null) {
    this.#teller = teller;
  }

  text(piece: string): void {
    if (this.said !== null) this.said += piece;
    this.#teller?.text(piece);
  }

  usage(usage: ModelUsage): void {
    this.said = null;
    this.#teller?.usage(usage);
  }

  complete(): void {
    this.said = null;
    this.#teller?.complete();
  }

  finish(): void {
    this.said = null;
    this.#teller?.finish();
  }

  fail(failure: ModelFailure): void {
    this.said = null;
    this.#teller?.fail(failure);
  }
}

/** Reads an event: its text if it says nothing else, null if it does or cannot be read. */
function read(dialect: Dialect, data: string, teller: Teller | null): string | null {
  const hearing = new Hearing(teller);
  const event = parse(data);
  if (event === null) hearing.fail('malformed');
  else dialect.event(hearing, event);
  return hearing.said;
}

/** Some endpoints stream events under a plainer name, or under none. */
const streamTypes = /^(?:text\/event-stream|text\/plain|application\/octet-stream|$)/;

function parse(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
