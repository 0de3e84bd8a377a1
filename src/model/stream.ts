/** A provider's event stream, read into what it says. */
import { createParser } from 'eventsource-parser';
import type { EventSourceMessage, EventSourceParser } from 'eventsource-parser';
import { limits } from '../limits.ts';
import type { Dialect, Teller } from './dialect.ts';
import { parseObject } from './json.ts';
import { templateOf, textBy } from './template.ts';
import type { Template } from './template.ts';

/** Which of a stream's chunks are tried for a template: a short answer is not worth one, nor is a stream whose events keep differing. */
const firstTried = 4;
const lastTried = 8;

export class StreamReader {
  readonly #dialect: Dialect;
  readonly #teller: Teller;
  /** For events that come in parts. */
  #own: EventReader | null = null;
  #template: Template | null = null;
  /** What came so far were whole events. */
  #between = true;
  /** Chunks that were read without a template. */
  #read = 0;

  constructor(dialect: Dialect, teller: Teller) {
    this.#dialect = dialect;
    this.#teller = teller;
  }

  /** Mostly one event, since that is how providers send; several where they waited to be read. */
  feed(chunk: string): void {
    // A stream may begin with a byte-order mark.
    const first = this.#read === 0 && chunk.startsWith('\ufeff') ? 1 : 0;
    for (let from = first; from < chunk.length; ) {
      const end = chunk.indexOf('\n\n', from);
      const to = end < 0 ? chunk.length : end + 2;
      this.#feed(from === 0 && to === chunk.length ? chunk : chunk.slice(from, to));
      from = to;
    }
  }

  /** An event, or a part of one. */
  #feed(chunk: string): void {
    const text = this.#template !== null && this.#between ? textBy(this.#template, chunk) : null;
    if (text !== null) return this.#teller.text(text);
    const begun = this.#between;
    this.#between = chunk.endsWith('\n\n');
    if (begun && this.#between) readWhole(this.#dialect, this.#teller, chunk);
    else (this.#own ??= new EventReader()).feed(this.#dialect, this.#teller, chunk);
    if (++this.#read >= firstTried && this.#read <= lastTried && begun && this.#between) this.#learn(chunk);
  }

  #learn(chunk: string): void {
    const text = textIn(this.#dialect, chunk);
    if (text !== null) this.#template = templateOf(chunk, text, (other) => textIn(this.#dialect, other)) ?? this.#template;
  }
}

class EventReader {
  #dialect: Dialect | null = null;
  #teller: Teller | null = null;
  readonly #parser: EventSourceParser = createParser({
    maxBufferSize: limits.providerEventCharactersMax,
    onEvent: (event) => this.#event(event),
    onError: ({ type }) => type === 'max-buffer-size-exceeded' && this.#teller!.fail('malformed'),
  });

  feed(dialect: Dialect, teller: Teller, chunk: string): void {
    this.#dialect = dialect;
    this.#teller = teller;
    this.#parser.feed(chunk);
    // An idle reader keeps no stream in memory.
    this.#dialect = this.#teller = null;
  }

  #event({ event: name, data }: EventSourceMessage): void {
    const [dialect, teller] = [this.#dialect!, this.#teller!];
    if (data === '') return;
    if (name === 'error') return teller.fail('provider_error');
    if (data === dialect.done) return teller.finish();
    const event = parseObject(data);
    if (event === null) teller.fail('malformed');
    else dialect.event(teller, event);
  }
}

/** Keeps nothing of whole events, so streams share it: a parser of its own would be 2 KB of each turn. Null while it reads. */
let idle: EventReader | null = null;

function readWhole(dialect: Dialect, teller: Teller, events: string): void {
  const reader = idle ?? new EventReader();
  idle = null;
  reader.feed(dialect, teller, events);
  // A reader whose event was thrown on is in the middle of it, and is not used again.
  idle = reader;
}

/** The text that whole events say; null if they say anything else. */
function textIn(dialect: Dialect, chunk: string): string | null {
  let text: string | null = '';
  const other = (): void => void (text = null);
  const teller = {
    text: (piece: string): void => void (text = text === null ? null : text + piece),
    usage: other,
    complete: other,
    finish: other,
    fail: other,
  };
  readWhole(dialect, teller, chunk);
  return text;
}
