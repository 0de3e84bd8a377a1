/** Reads a provider's event stream. */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, EventSourceParser, ParseError } from 'eventsource-parser';
import { parseObject } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import { isError } from './dialect.ts';
import type { Dialect, AnswerSink } from './dialect.ts';
import { templateOf, textBy } from './template.ts';
import type { Template } from './template.ts';

/**
 * The chunks of a stream that are tried for a template, if they say text: a short answer is not worth one, nor is a
 * stream whose events keep differing.
 */
const firstTried = 4;
const lastTried = 8;

export class StreamReader {
  readonly #dialect: Dialect;
  readonly #sink: AnswerSink;
  /** For events that come in parts. */
  #own: EventReader | null = null;
  #template: Template | null = null;
  /** Whether the chunks so far were whole events. */
  #between = true;
  /** A line feed that comes next belongs to the line end before it. */
  #afterReturn = false;
  /** Chunks that were read without a template. */
  #read = 0;

  constructor(dialect: Dialect, sink: AnswerSink) {
    this.#dialect = dialect;
    this.#sink = sink;
  }

  /** Mostly one event, since that is how providers send; several where they waited to be read. */
  feed(chunk: string): void {
    if (this.#byTemplate(chunk)) return;
    const lines = this.#lineFeeds(chunk);
    for (let from = 0; from < lines.length;) {
      const end = lines.indexOf('\n\n', from);
      const to = end < 0 ? lines.length : end + 2;
      const isAll = from === 0 && to === chunk.length;
      this.#feed(isAll ? lines : lines.slice(from, to), isAll);
      from = to;
    }
  }

  /** The stream has ended. An event without its blank line counts: a stream that ends cleanly was sent whole. */
  end(): void {
    this.feed('\n\n');
  }

  #byTemplate(chunk: string): boolean {
    const text = this.#template !== null && this.#between && !this.#afterReturn ? textBy(this.#template, chunk) : null;
    if (text !== null) this.#sink.text(text);
    return text !== null;
  }

  /** The chunk with all of its line ends as line feeds: CR, LF and CRLF are the same in an event stream. */
  #lineFeeds(chunk: string): string {
    const text = this.#afterReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
    this.#afterReturn = chunk === '' ? this.#afterReturn : chunk.endsWith('\r');
    return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
  }

  /** An event, or a part of one. */
  #feed(chunk: string, isTried: boolean): void {
    if (!isTried && this.#byTemplate(chunk)) return;
    const begun = this.#between;
    const { texts } = this.#sink;
    this.#between = chunk.endsWith('\n\n');
    if (begun && this.#between) readWhole(this.#dialect, this.#sink, chunk);
    else (this.#own ??= new EventReader()).feed(this.#dialect, this.#sink, chunk);
    if (++this.#read >= firstTried && this.#read <= lastTried && this.#sink.texts > texts && begun && this.#between)
      this.#learn(chunk);
  }

  #learn(chunk: string): void {
    const text = textIn(this.#dialect, chunk);
    if (text !== null)
      this.#template = templateOf(chunk, text, (other) => textIn(this.#dialect, other)) ?? this.#template;
  }
}

class EventReader {
  #dialect: Dialect | null = null;
  #sink: AnswerSink | null = null;
  readonly #parser: EventSourceParser = createParser({
    maxBufferSize: limits.providerEventCharactersMax,
    onEvent: (event) => this.#event(event),
    onError: (error) => this.#unreadable(error),
  });

  feed(dialect: Dialect, sink: AnswerSink, chunk: string): void {
    this.#dialect = dialect;
    this.#sink = sink;
    this.#parser.feed(chunk);
    // An idle reader keeps no stream in memory.
    this.#dialect = this.#sink = null;
  }

  /** Some servers write an error as a field of that name; other unknown lines are ignored. */
  #unreadable({ type, field, value }: ParseError): void {
    if (type === 'max-buffer-size-exceeded') this.#sink!.fail('malformed');
    else if (field === 'error') this.#sink!.fail('provider_error', value);
  }

  #event({ event: name, data }: EventSourceMessage): void {
    const [dialect, sink] = [this.#dialect!, this.#sink!];
    if (name === 'error') return sink.fail('provider_error', data);
    const text = data.startsWith('{') ? data : data.trim();
    if (text === '') return;
    const isObject = text.startsWith('{');
    if (!isObject && endMark.test(text)) return sink.finish();
    const event = isObject ? parseObject(text) : null;
    if (event !== null && isError(event)) sink.fail('provider_error', text);
    else if (event !== null) dialect.event(sink, event);
    // An event with a name of the endpoint's own, such as a heartbeat, may carry any text, also half an object.
    else if ((name ?? 'message') === 'message' || (isObject && dialect.owns(name!, text))) sink.fail('malformed');
  }
}

/** The data that closes a stream, as APIs and gateways write it. */
const endMark = /^\[\s*(?:done|end|eos|stop|finish|finished|complete|completed)\s*\]$|^(?:done|end)$/i;

/**
 * Parser that streams share, because it keeps no state after a whole event and one parser per turn would cost 2 KB.
 * Null while a stream uses it.
 */
let idle: EventReader | null = null;

function readWhole(dialect: Dialect, sink: AnswerSink, events: string): void {
  const reader = idle ?? new EventReader();
  idle = null;
  reader.feed(dialect, sink, events);
  // A reader whose event was thrown on is in the middle of it, and is not used again.
  idle = reader;
}

/** The text that whole events say; null if they say anything else. */
function textIn(dialect: Dialect, chunk: string): string | null {
  let text: string | null = '';
  const other = (): void => void (text = null);
  const sink = {
    texts: 0,
    begin() {},
    reasoning: (piece: string): void => void (text = piece === '' ? text : null),
    text: (piece: string): void => void (text = text === null ? null : text + piece),
    call: other,
    keep: other,
    keepFields: other,
    usage: other,
    complete: other,
    refuse: other,
    finish: other,
    fail: other,
  };
  readWhole(dialect, sink, chunk);
  return text;
}
