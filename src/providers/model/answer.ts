/**
 * The code that providers over HTTP share: sends a request, reads an event stream or one JSON body, and ends exactly
 * once.
 */
import { isAscii } from 'node:buffer';
import { StringDecoder } from 'node:string_decoder';
import { parseObject, type Json } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type {
  AnswerCut,
  ModelStream,
  ModelFailure,
  ModelRequest,
  ModelSink,
  ModelUsage,
  ReasoningMode,
  ToolOffer,
} from '../model.ts';
import { isError } from './dialect.ts';
import { JoinedToolCalls } from './tool-calls.ts';
import type { ToolCallPart, Dialect, AnswerSink } from './dialect.ts';
import type { Asking, Attempts } from './attempts.ts';
import type { ProviderRequest, ProviderHttp, ProviderListener, ProviderPost } from '../client.ts';
import { namesByOfferedName } from './names.ts';
import { reasoningOf } from './reasoning.ts';
import type { Reasoning } from './reasoning.ts';
import { StreamReader } from './stream.ts';

/** Reads a provider's answer as it arrives; each answer has its own dialect. */
export interface Reading {
  readonly dialect: () => Dialect;
  readonly reasoning: ReasoningMode;
  /** The provider (see `OpaqueFields.origin`). */
  readonly origin: string;
  /** The functions that the model knows of. */
  readonly offered: readonly ToolOffer[];
}

export const openAnswer = (
  { reasoning, tools, closedTools }: ModelRequest,
  { origin }: Asking,
): Omit<Reading, 'dialect'> => ({ reasoning, origin, offered: tools ?? closedTools ?? [] });

/** Sends the request and passes the provider's answer to the sink. */
export function streamAnswer(http: ProviderHttp, reading: Reading, attempts: Attempts, sink: ModelSink): ModelStream {
  return new Answer(http, reading, attempts, sink, attempts.first);
}

/** The answer to one request while it comes in. */
class Answer implements ProviderListener, ModelStream, AnswerSink {
  readonly #http: ProviderHttp;
  readonly #reading: Reading;
  readonly #dialect: Dialect;
  /** Null once the answer has begun: they hold the conversation and the key, which are of no use from then on. */
  #attempts: Attempts | null;
  readonly #sink: ModelSink;
  /** The answer to the request after this one, which was refused. */
  #next: Answer | null = null;
  /** Null until a chunk ends in a character of more than one byte, which may come in parts. */
  #decoder: StringDecoder | null = null;
  #call: ProviderRequest | null = null;
  #stream: StreamReader | null = null;
  #whole = '';
  /** Null once the answer's own text has begun. */
  #reasoning: Reasoning | null;
  /** Null until a tool is called. */
  #calls: JoinedToolCalls | null = null;
  #settled = false;
  #begun = false;
  #complete = false;
  #cut: AnswerCut | null = null;
  #refused = false;
  texts = 0;

  constructor(http: ProviderHttp, reading: Reading, attempts: Attempts, sink: ModelSink, post: ProviderPost) {
    this.#http = http;
    this.#reading = reading;
    this.#dialect = reading.dialect();
    this.#attempts = attempts;
    this.#sink = sink;
    this.#reasoning = reasoningOf(reading.reasoning);
    this.#call = http.post(post, this);
  }

  begin(): void {
    this.#begun = true;
  }

  text(piece: string): void {
    if (this.#settled || piece === '') return;
    this.texts++;
    this.#accept();
    if (this.#reasoning === null) return this.#say(piece);
    this.#say(this.#reasoning.text(piece));
    if (this.#reasoning.over) this.#reasoning = null;
  }

  reasoning(piece: string): void {
    if (this.#settled || piece === '') return;
    this.#accept();
    if (this.#reasoning !== null) this.#say(this.#reasoning.field(piece));
  }

  call(part: ToolCallPart): void {
    if (this.#settled) return;
    this.#accept();
    this.#joined().take(part);
  }

  keep(index: number, part: Readonly<Record<string, string>>): void {
    if (!this.#settled) this.#joined().keep(index, part);
  }

  keepFields(fields: Json): void {
    if (!this.#settled) this.#joined().keepFields(fields);
  }

  #joined(): JoinedToolCalls {
    const { origin, offered } = this.#reading;
    return (this.#calls ??= new JoinedToolCalls({
      origin,
      offered: namesByOfferedName(offered),
      storedOf: (kept) => this.#dialect.storedOf(kept),
    }));
  }

  usage(usage: ModelUsage): void {
    if (!this.#settled) this.#sink.usage(usage);
  }

  complete(cut: AnswerCut | null): void {
    this.#complete = true;
    this.#cut ??= cut;
    this.#call?.outputEnded();
  }

  refuse(): void {
    this.#refused = true;
  }

  finish(): void {
    if (this.#settled) return;
    // An answer without any output is a failure, however it closed.
    if (!this.#begun && !this.#complete) return this.fail('malformed');
    this.#accept();
    this.#say(this.#reasoning?.rest() ?? '');
    if (this.#settled) return;
    this.#settled = true;
    this.#call?.release();
    if (!this.#refused && this.#cut !== 'refusal') this.#calls?.tell(this.#sink);
    this.#sink.end(this.#cut ?? undefined);
  }

  fail(failure: ModelFailure, errorText = ''): void {
    if (this.#settled) return;
    if (this.#complete) return this.finish();
    this.#call?.cancel();
    this.#refuse(failure, statusOfErrors, errorText);
  }

  cancel(): void {
    this.#settled = true;
    (this.#next ?? this.#call)?.cancel();
  }

  hold(): void {
    (this.#next ?? this.#call)?.hold();
  }

  resume(): void {
    (this.#next ?? this.#call)?.resume();
  }

  head(_contentType: string, contentEncoding: string): void {
    if (contentEncoding !== '' && contentEncoding !== 'identity') this.fail('malformed');
  }

  data(chunk: Buffer): void {
    const text = this.#textOf(chunk);
    if (this.#stream !== null) return this.#stream.feed(text);
    this.#take(this.#whole === '' ? text.trimStart() : text);
  }

  ended(): void {
    if (this.#stream !== null) {
      this.#stream.end();
      return this.#complete ? this.finish() : this.fail('cut');
    }
    if (this.#whole === '') return this.fail('cut');
    const body = parseObject(withoutEnd(this.#whole));
    if (body === null) this.fail('malformed');
    else if (isError(body)) this.fail('provider_error', this.#whole);
    else this.#dialect.whole(this, body);
  }

  failed(failure: ModelFailure, status: number | null, errorText: string): void {
    if (this.#complete) this.finish();
    else this.#refuse(failure, status, errorText);
  }

  /** Decides by the first character behind a mark and white space: endpoints and gateways send wrong content types. */
  #take(text: string): void {
    if (text === '') return;
    const isFirst = this.#whole === '';
    if (isFirst && !/^[{[<]/.test(text)) {
      this.#stream = new StreamReader(this.#dialect, this);
      return this.#stream.feed(text);
    }
    this.#whole += text;
    const isPage = isFirst && text.startsWith('<');
    if (isPage || this.#whole.length > limits.providerEventCharactersMax) this.fail('malformed');
  }

  #say(text: string): void {
    if (text === '') return;
    this.#call?.outputBegan();
    // Restarts the grace period if more output arrived after the supposed end.
    if (this.#complete) this.#call?.outputEnded();
    this.#sink.text(text);
  }

  /** A character may be split between two chunks: the decoder holds its first bytes back. */
  #textOf(chunk: Buffer): string {
    if (this.#decoder !== null || chunk[chunk.length - 1]! > lastAscii)
      return (this.#decoder ??= new StringDecoder('utf8')).write(chunk);
    return chunk.toString(isAscii(chunk) ? 'latin1' : 'utf8');
  }

  /** The request was taken: from here on there is no other. */
  #accept(): void {
    this.#attempts?.noteAccepted();
    this.#attempts = null;
  }

  /** Retries with another form of the request, if there is one. The rest of this answer is ignored. */
  #refuse(failure: ModelFailure, status: number | null, errorText: string): void {
    if (this.#settled) return;
    this.#settled = true;
    const attempts = this.#attempts;
    this.#attempts = null;
    const post = status === null ? null : (attempts?.next(status, errorText) ?? null);
    if (post === null) this.#sink.failed(attempts?.wishRefused ?? failure);
    else this.#next = new Answer(this.#http, this.#reading, attempts!, this.#sink, post);
  }
}

/** A whole answer without the lines of an event stream that gateways append to it, such as the mark of its end. */
function withoutEnd(text: string): string {
  const at = Math.max(0, text.length - endCharactersMax);
  const lines = text.slice(at).split('\n');
  while (lines.length > 1 && isOfStream(lines.at(-1)!)) lines.pop();
  const last = lines.pop()!;
  const end = last.lastIndexOf('}') + 1;
  return text.slice(0, at) + [...lines, end > 0 && isOfStream(last.slice(end)) ? last.slice(0, end) : last].join('\n');
}

/** Whether a line has nothing of an answer. */
const isOfStream = (line: string): boolean => /^(?:(?:event|id|retry|data)?:|\[DONE\]$|$)/.test(line.trim());

const endCharactersMax = 1024;

/** The beginning of an answer that turns out to be an error. */
const statusOfErrors = 200;

const lastAscii = 0x7f;
