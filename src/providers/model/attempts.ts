/** The requests of one turn: a field that a model refuses is left out of the next request, in few retries. */
import { limits } from '../../base/limits.ts';
import { estimateTokens } from '../model.ts';
import type { ModelMessage, ModelRequest, ModelSink } from '../model.ts';
import type { ProviderPost } from '../client.ts';
import { cutHistory } from './history.ts';
import type { Lessons } from './learnt.ts';
import { omits, ShapeSearch } from './shape.ts';

/** The request to the model of a turn. */
export interface Asking {
  /** The model, its endpoint and its key: lessons of one do not apply to another. */
  readonly model: string;
  /** The parts of this request that may be omitted. */
  readonly open: number;
  post(messages: readonly ModelMessage[], shape: number): ProviderPost;
}

/** The omissions that a request leaves open, whichever way its provider says the rest. */
export function openOmissions({ messages, systemPrompt, temperature, outputTokensMax }: ModelRequest): number {
  let open: number = omits.usage;
  if (outputTokensMax !== null) open |= omits.otherBound | omits.bound;
  if (messages[0]?.role === 'assistant') open |= omits.greeting;
  if (temperature !== null) open |= omits.temperature;
  if (systemPrompt !== null) open |= omits.system;
  return open;
}

/** One per turn. */
export class Attempts {
  readonly first: ProviderPost;
  readonly #asking: Asking;
  readonly #lessons: Lessons;
  readonly #sink: ModelSink;
  readonly #search: ShapeSearch;
  readonly #until: number;
  readonly #now: () => number;
  #messages: readonly ModelMessage[];
  /** Messages of the request's that are not sent. */
  #leftOut = 0;
  #historyTokens: number | null;
  #halved = false;
  #posts = 1;

  /** `now` is monotonic, in milliseconds. */
  constructor(asking: Asking, { messages }: ModelRequest, lessons: Lessons, sink: ModelSink, now: () => number) {
    const { shape, historyTokens } = lessons.of(asking.model);
    this.#asking = asking;
    this.#lessons = lessons;
    this.#sink = sink;
    this.#now = now;
    this.#until = now() + limits.providerAttemptsMs;
    this.#search = new ShapeSearch(asking.open, shape);
    this.#historyTokens = historyTokens;
    this.#messages = messages;
    if (historyTokens !== null) this.#cut(historyTokens);
    this.first = this.#post();
  }

  /** Returns the request after such a refusal; null if the refusal stands. Only the beginning of a long refusal is searched for the reason. */
  next(status: number, said: string): ProviderPost | null {
    if (this.#posts === limits.providerAttemptsMax || this.#now() > this.#until) return null;
    this.#posts++;
    return this.#mend(status, said.slice(0, limits.providerRefusalCharactersMax)) ? this.#post() : null;
  }

  /** Notes that the last request was accepted. Lessons on fields that this turn did not use stay as they were. */
  noteAccepted(): void {
    const { model, open } = this.#asking;
    const known = this.#lessons.of(model);
    const historyTokens = this.#halved ? Math.max(this.#historyTokens!, this.#tokens()) : known.historyTokens;
    this.#lessons.note(model, { shape: this.#search.shape | (known.shape & ~open), historyTokens });
    if (this.#leftOut > 0) this.#sink.noteLeftOut?.(this.#leftOut);
  }

  #mend(status: number, said: string): boolean {
    if (isTooLong(status, said)) return this.#halve();
    const isAboutRequest = status === 400 || status === 422 || this.#search.isNamed(said);
    return isAboutRequest && this.#search.next(said, this.#posts === limits.providerAttemptsMax);
  }

  /** A refusal for length teaches nothing of the shape. A history that is still too long is half as long next time. */
  #halve(): boolean {
    const half = Math.floor(this.#tokens() / 2);
    const { shape } = this.#lessons.of(this.#asking.model);
    if (!this.#cut(half)) return false;
    this.#historyTokens = half;
    if (!this.#halved) return (this.#halved = true);
    this.#lessons.note(this.#asking.model, { shape, historyTokens: half });
    return false;
  }

  #cut(tokensMax: number): boolean {
    const { messages, leftOut } = cutHistory(this.#messages, tokensMax);
    this.#messages = messages;
    this.#leftOut += leftOut;
    return leftOut > 0;
  }

  #tokens(): number {
    return this.#messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
  }

  #post(): ProviderPost {
    return this.#asking.post(this.#messages, this.#search.shape);
  }
}

/** How providers say that a request is too long. */
const tooLongWords: readonly RegExp[] = [
  /context[_ -]?(?:length|window|size|limit)/i,
  /maximum (?:context|model|prompt|input|sequence) length/i,
  /max(?:imum)?[_ ](?:model|seq|sequence|input|prompt|context)[_ ]?(?:len|length|tokens)/i,
  /(?:prompt|inputs?|request|messages|conversation|sequence)(?: tokens?| length| token count)*(?: is| are)? (?:too (?:long|large|big)|exceeds?)/i,
  /too many (?:input |prompt |total )?tokens/i,
  /too large for model/i,
  /token count.{0,60}exceeds?/i,
  /exceed.{0,48}(?:token limit|tokens allowed|context)/i,
  /reduce the length/i,
  /range of input length/i,
  /`?inputs`? tokens \+/i,
  /string_above_max_length/i,
];

/** The reply is what does not fit: its bound can be left out, the history has no part in it. */
const outputBound = /max_(?:completion_|output_|new_)?tokens\W{0,3}(?: or \W?max_completion_tokens\W?)?(?: is)? too (?:large|high)/i;

/** Looks at the provider's own words with any status: some providers send them with a 500, or within a 200. */
const isTooLong = (status: number, said: string): boolean => status === 413 || (tooLongWords.some((words) => words.test(said)) && !outputBound.test(said));
