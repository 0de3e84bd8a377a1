/**
 * The load: asks the servers, checks every answer and measures how long it took; in C where a compiler is there
 * (`native/load.c`), else in Node.
 */
import type { Instance } from './harness/contender.ts';
import type { Shape } from './text.ts';

export interface TurnTimes {
  /** To the first text and to the end of the answer, in milliseconds, one item a turn. */
  readonly firstMs: readonly number[];
  readonly wholeMs: readonly number[];
}

/** Progress of some streams so far, and their lateness since the last mark. */
export interface Mark {
  /** Tokens that have come whole. */
  readonly tokens: number;
  /** Events with text. */
  readonly deltas: number;
  /** Between arrivals of one stream, beyond the time between its tokens; in milliseconds. */
  readonly lateP50: number;
  readonly lateP99: number;
}

/** Streamed answers under way, each on a separate connection. */
export interface Streams {
  /** Resolves when every answer has come whole and was checked; rejects with the first fault. */
  readonly done: Promise<void>;
  /** Resolves once every answer has begun, or when it is clear that one will not. */
  begun(): Promise<void>;
  /** Once they have begun, and also when they are done. */
  mark(): Promise<Mark>;
}

/**
 * More connections at one instant would overflow the accept queue of a server that is busy for a moment, and be retried
 * a second later.
 */
export const beginAbreast = 256;

export interface Load {
  /**
   * Runs each conversation for `turnsEach` turns, each begun when the previous one has ended, `abreast` conversations
   * at a time, until all have ended or `until`, of `performance.now()`, has come. Times count from the request.
   */
  converse(
    instance: Instance,
    requests: readonly string[],
    turnsEach: number,
    abreast: number,
    shape: Shape,
    until?: number,
  ): Promise<TurnTimes>;
  /**
   * Begins a turn at each of these times, in milliseconds from now, on one of `abreast` connections, `turnsEach` turns
   * in a conversation. A turn that finds no connection free waits, and its times count from when it was due.
   */
  arrive(
    instance: Instance,
    requests: readonly string[],
    turnsEach: number,
    abreast: number,
    shape: Shape,
    arrivals: readonly number[],
  ): Promise<TurnTimes>;
  /**
   * Sends the same request `count` times, `abreast` at a time; each answer must have the status, and is not looked at.
   */
  repeat(port: number, request: string, status: number, count: number, abreast: number): Promise<void>;
  /** Begins `abreast` at a time, `beginAbreast` unless told, each when an earlier one has begun. */
  stream(instance: Instance, requests: readonly string[], shape: Shape, abreast?: number): Streams;
  /** CPU time so far, in microseconds. */
  microseconds(): number;
}
