/** How a provider says things on the wire, and what it may say. */
import type { ModelFailure, ModelUsage } from '../model.ts';
import type { Json } from './json.ts';

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

export interface Dialect {
  /** The data that closes a stream without being JSON. */
  readonly done: string | null;
  /** One event of the stream. */
  event(answer: Teller, event: Json): void;
  /** A whole answer, from an endpoint that does not stream. */
  whole(answer: Teller, body: Json): void;
}
