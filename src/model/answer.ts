/** What the providers over HTTP share: sending, reading an event stream or one JSON body, and ending exactly once. */
import { isAscii } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { limits } from '../limits.ts';
import type { ModelCall, ModelFailure, ModelSink, ModelUsage } from '../model.ts';
import type { Dialect, Teller } from './dialect.ts';
import type { ProviderCall, ProviderHttp, ProviderListener, ProviderPost } from '../provider.ts';
import { parseObject } from './json.ts';
import { StreamReader } from './stream.ts';

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
  /** Null once one was taken: they hold the conversation and the key, which are of no use from then on. */
  #attempts: Attempts | null;
  readonly #sink: ModelSink;
  /** Null until a chunk ends in a character of more than one byte, which may come in parts. */
  #decoder: StringDecoder | null = null;
  #call: ProviderCall | null = null;
  #attempt = -1;
  #stream: StreamReader | null = null;
  #whole = '';
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
    if (!this.#settled) this.#sink.usage(usage);
  }

  complete(): void {
    this.#complete = true;
  }

  finish(): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#call?.release();
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

  hold(): void {
    this.#call?.hold();
  }

  resume(): void {
    this.#call?.resume();
  }

  head(contentType: string, contentEncoding: string): void {
    this.#attempts?.accepted(this.#attempt);
    this.#attempts = null;
    if (contentEncoding !== '' && contentEncoding !== 'identity') return this.fail('malformed');
    if (contentType.includes('json')) return;
    if (!streamTypes.test(contentType)) return this.fail('malformed');
    this.#stream = new StreamReader(this.#dialect, this);
  }

  data(chunk: Buffer): void {
    const text = this.#textOf(chunk);
    if (this.#stream !== null) return this.#stream.feed(text);
    this.#whole += text;
    if (this.#whole.length > limits.providerEventCharactersMax) this.fail('malformed');
  }

  ended(): void {
    if (this.#stream !== null) return this.#complete ? this.finish() : this.fail('cut');
    const body = parseObject(this.#whole);
    if (body === null) this.fail('malformed');
    else this.#dialect.whole(this, body);
  }

  failed(failure: ModelFailure, status: number | null): void {
    if (this.#complete) this.finish();
    else if (!((status === 400 || status === 422) && this.#next())) this.#settle(failure);
  }

  /** A character may be split between two chunks: the decoder holds its first bytes back. */
  #textOf(chunk: Buffer): string {
    if (this.#decoder !== null || chunk[chunk.length - 1]! > lastAscii) return (this.#decoder ??= new StringDecoder('utf8')).write(chunk);
    return chunk.toString(isAscii(chunk) ? 'latin1' : 'utf8');
  }

  #settle(failure: ModelFailure): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#sink.failed(failure);
  }

  #next(): boolean {
    const post = this.#attempts?.post(++this.#attempt) ?? null;
    if (post !== null) this.#call = this.#http.post(post, this);
    return post !== null;
  }
}

const lastAscii = 0x7f;

/** Some endpoints stream events under a plainer name, or under none. */
const streamTypes = /^(?:text\/event-stream|text\/plain|application\/octet-stream|$)/;
