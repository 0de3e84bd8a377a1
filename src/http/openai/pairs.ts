/**
 * The calls of a history and their results (contract 14): models refuse a call without its result, and a result without
 * its call.
 */
import type { ModelToolCall, ModelMessage, SaidMessage } from '../../providers/model.ts';
import { unknownResult } from '../../providers/tool.ts';

/** A result as a client sent it. */
export interface GivenResult {
  readonly role: 'tool';
  /** Undefined where a client names no call, which then is the first one without a result. */
  readonly callId: string | undefined;
  /** The function whose call it answers, where a client names that in place of the call. */
  readonly name?: string | undefined;
  readonly content: string;
}

/** A call, and the result that was found for it. */
interface Pair {
  readonly call: ModelToolCall;
  result: string | null;
}

interface Round {
  readonly message: SaidMessage;
  readonly pairs: readonly Pair[];
}

export interface Paired {
  /** Each call is followed by its result, or by a sentence in its place. A result without a call is left out. */
  readonly messages: readonly ModelMessage[];
  /** Whether the results behind the last other message answer each call of the last round, and nothing else. */
  readonly isAnswered: boolean;
}

export function paired(given: readonly (SaidMessage | GivenResult)[]): Paired {
  const rounds: Round[] = [];
  const open = new OpenCalls();
  let strays = 0;
  for (const one of given) {
    if (one.role === 'tool') {
      const pair = open.take(one);
      if (pair === null) strays++;
      else pair.result = one.content;
      continue;
    }
    strays = 0;
    const pairs = (one.calls ?? []).map((call): Pair => ({ call, result: null }));
    open.add(pairs);
    rounds.push({ message: one, pairs });
  }
  const asked = rounds.findLast(({ pairs }) => pairs.length > 0);
  return {
    messages: rounds.flatMap(messagesOf),
    isAnswered: strays === 0 && asked !== undefined && asked.pairs.every(({ result }) => result !== null),
  };
}

const messagesOf = ({ message, pairs }: Round): ModelMessage[] => [
  message,
  ...pairs.map(({ call, result }): ModelMessage => ({
    role: 'tool',
    callId: call.id,
    content: result ?? unknownResult,
  })),
];

/** Calls without a result. An id that comes again is another call's from then on. */
class OpenCalls {
  readonly #pairs = new Map<string, Pair[]>();
  #latest: readonly Pair[] = [];

  /** The calls of a round. */
  add(pairs: readonly Pair[]): void {
    if (pairs.length > 0) this.#latest = pairs;
    for (const { call } of pairs) this.#pairs.set(call.id, []);
    for (const pair of pairs) this.#pairs.get(pair.call.id)!.push(pair);
  }

  /** The call that a result answers; null for none. */
  take({ callId, name }: GivenResult): Pair | null {
    const id =
      callId ??
      this.#latest.find(({ call, result }) => result === null && (name === undefined || call.name === name))?.call.id;
    return (id !== undefined && this.#pairs.get(id)?.shift()) || null;
  }
}
