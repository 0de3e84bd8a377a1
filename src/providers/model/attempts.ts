/** The requests of one turn: what a model refuses is left out of the next request or said otherwise, in few retries. */
import { limits } from '../../base/limits.ts';
import { estimateTokens } from '../model.ts';
import type { ModelMessage, ModelRequest, ModelSink, ToolOffer, WishRefused } from '../model.ts';
import type { ProviderPost } from '../client.ts';
import { cutHistory } from './history.ts';
import { learntFrom, type Lessons } from './learnt.ts';
import { definitionOf, functionsNamed } from './refused-tools.ts';
import { isOutputFault, isUnrelated, repairs, repairsNamed, wishNamed } from './repairs.ts';
import { ShapeSearch } from './shape.ts';

/** Requests to a provider for one answer; each definition of a function that it refuses adds one. */
export const providerAttemptsMax = 12;
/** Milliseconds from the first of these requests to the beginning of the last. */
export const providerAttemptsMs = 60_000;
/** Definitions of functions that a process remembers a model to refuse. */
const modelFunctionsRefusedMax = 128;

/** The request to the model of a turn. */
export interface Asking {
  /** The model, its endpoint and its key: lessons of one do not apply to another. */
  readonly model: string;
  /** The provider (see `OpaqueFields.origin`). */
  readonly origin: string;
  /** The repairs that this request has a use for. */
  readonly open: number;
  post(request: Shaped): ProviderPost;
}

/** A request in a shape. */
export interface Shaped {
  readonly messages: readonly ModelMessage[];
  readonly shape: number;
  /** The functions that are not offered, because the provider refuses their definitions. */
  readonly refused: ReadonlySet<string>;
}

/** The repairs of its body that a request has a use for, whichever way its provider says the rest. */
export function openBodyRepairs({
  messages,
  systemPrompt,
  temperature,
  outputTokensMax,
  tools = [],
}: ModelRequest): number {
  let open: number = repairs.usage;
  if (outputTokensMax !== null) open |= repairs.otherBound | repairs.bound;
  if (messages[0]?.role === 'assistant') open |= repairs.greeting;
  if (temperature !== null) open |= repairs.temperature;
  if (systemPrompt !== null) open |= repairs.system;
  return tools.some(({ description }) => description !== null && description.length > shortDescriptionCharacters)
    ? open | repairs.shortDescriptions
    : open;
}

/** OpenAI takes no longer description of a function. */
export const shortDescriptionCharacters = 1024;

/** The statuses of a request that is not as the provider wants it. */
const aboutRequest: ReadonlySet<number> = new Set([400, 422]);
/** The statuses of a request that is not looked at. */
const aboutCaller: ReadonlySet<number> = new Set([401, 402, 403, 429]);

/** An address or a model that is not there, or a gateway without an endpoint that takes the caller's wish. */
const notFound = 404;

/** One per turn. */
export class Attempts {
  readonly first: ProviderPost;
  /** The caller's wish that the provider has refused: without it the answer would not be the wanted one. */
  wishRefused: WishRefused | null = null;
  readonly #asking: Asking;
  readonly #lessons: Lessons;
  readonly #sink: ModelSink;
  readonly #search: ShapeSearch;
  readonly #until: number;
  readonly #now: () => number;
  readonly #tools: readonly ToolOffer[];
  readonly #wishes: Pick<ModelRequest, 'format' | 'forced'>;
  /** Whether the model may call them. */
  readonly #isOffering: boolean;
  /** The functions that are not offered: those learnt of before, and those refused in this turn. */
  readonly #withheld = new Set<string>();
  readonly #refused: string[] = [];
  #messages: readonly ModelMessage[];
  /** Messages of the request's that are not sent. */
  #leftOut = 0;
  #historyTokens: number | null;
  #halved = false;
  #asksAgain = true;
  #posts = 1;

  /** `now` is monotonic, in milliseconds. */
  constructor(
    asking: Asking,
    { messages, tools, closedTools, format, forced }: ModelRequest,
    lessons: Lessons,
    sink: ModelSink,
    now: () => number,
  ) {
    const { shape, trial, refused, historyTokens } = lessons.of(asking.model);
    this.#asking = asking;
    this.#lessons = lessons;
    this.#sink = sink;
    this.#now = now;
    this.#until = now() + providerAttemptsMs;
    this.#search = new ShapeSearch(asking.open, shape, trial);
    this.#wishes = { format, forced };
    this.#isOffering = tools !== undefined;
    this.#tools = tools ?? closedTools ?? [];
    if (refused.size > 0)
      for (const tool of this.#tools) if (refused.has(definitionOf(tool))) this.#withheld.add(tool.name);
    this.#historyTokens = historyTokens;
    this.#messages = messages;
    if (historyTokens !== null) this.#cut(historyTokens);
    this.first = this.#post();
  }

  /**
   * Returns the request after such a refusal; null if the refusal stands. Only the beginning of a long refusal is
   * searched for the reason.
   */
  next(status: number, errorText: string): ProviderPost | null {
    if (this.#posts >= providerAttemptsMax + this.#refused.length || this.#now() > this.#until) return null;
    this.#posts++;
    return this.#mend(status, errorText.slice(0, limits.providerRefusalCharactersMax)) ? this.#post() : null;
  }

  /** Notes that the last request was accepted. */
  noteAccepted(): void {
    const { model, origin, open } = this.#asking;
    const lesson = this.#lessons.of(model);
    const historyTokens = this.#halved ? Math.max(this.#historyTokens!, this.#tokens()) : lesson.historyTokens;
    const learnt = learntFrom(lesson, { open, named: this.#search.named, accepted: this.#search.shape });
    const definitions = this.#tools.filter(({ name }) => this.#refused.includes(name)).map(definitionOf);
    const refused =
      definitions.length === 0
        ? lesson.refused
        : new Set([...lesson.refused, ...definitions].slice(-modelFunctionsRefusedMax));
    this.#lessons.note(model, { ...learnt, refused, historyTokens });
    if (this.#leftOut > 0) this.#sink.noteLeftOut?.(this.#leftOut);
    // Functions that may not be called any more are not all declared: such a request does not show that they are taken.
    if (this.#isOffering || this.#refused.length > 0)
      this.#sink.noteOffered?.({ origin, withheld: this.#withheld, refused: this.#refused });
  }

  #mend(status: number, errorText: string): boolean {
    if (aboutCaller.has(status)) return false;
    this.wishRefused = wishNamed(errorText, this.#wishes);
    if (this.wishRefused !== null || status === notFound) return false;
    if (isTooLong(status, errorText) && !this.#isOfText(errorText)) return this.#halve();
    if (isOutputFault(errorText)) return this.#repeat();
    if (!aboutRequest.has(status) && !this.#isNamed(errorText)) return false;
    if (this.#withhold(errorText)) return true;
    if (isUnrelated(errorText) && !this.#search.isNamed(errorText)) return false;
    return this.#search.next(errorText, providerAttemptsMax + this.#refused.length - this.#posts);
  }

  /** Whether the words are about a text that is too long, and not about the history: an id, or a description. */
  #isOfText(errorText: string): boolean {
    return (
      (repairsNamed(errorText) &
        this.#asking.open &
        ~this.#search.shape &
        (repairs.ids | repairs.shortDescriptions)) !==
      0
    );
  }

  /** Whether the words are about the request, as servers say them with other statuses as well. */
  #isNamed(errorText: string): boolean {
    return this.#search.isNamed(errorText) || this.#named(errorText).length > 0;
  }

  /** The same request may be answered otherwise; once in a turn. */
  #repeat(): boolean {
    const again = this.#asksAgain;
    this.#asksAgain = false;
    return again;
  }

  /** Offers the functions no more whose definitions are refused; false if the words name none. */
  #withhold(errorText: string): boolean {
    const named = this.#named(errorText);
    for (const name of named) {
      this.#withheld.add(name);
      this.#refused.push(name);
    }
    return named.length > 0;
  }

  #named(errorText: string): string[] {
    if (
      this.#tools.length === 0 ||
      (repairsNamed(errorText) &
        this.#asking.open &
        ~this.#search.shape &
        (repairs.shortDescriptions | repairs.names)) !==
        0
    )
      return [];
    return functionsNamed(
      errorText,
      this.#tools.filter(({ name }) => !this.#withheld.has(name)),
    );
  }

  /** A refusal for length teaches nothing of the shape. A history that is still too long is half as long next time. */
  #halve(): boolean {
    const half = Math.floor(this.#tokens() / 2);
    const lesson = this.#lessons.of(this.#asking.model);
    if (!this.#cut(half)) return false;
    this.#historyTokens = half;
    if (!this.#halved) return (this.#halved = true);
    this.#lessons.note(this.#asking.model, { ...lesson, historyTokens: half });
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
    return this.#asking.post({ messages: this.#messages, shape: this.#search.shape, refused: this.#withheld });
  }
}

/** Phrases by which providers say that a request is too long. */
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
const outputBound =
  /max_(?:completion_|output_|new_)?tokens\W{0,3}(?: or \W?max_completion_tokens\W?)?(?: is)? too (?:large|high)/i;

/** Looks at the provider's own words with any status: some providers send them with a 500, or within a 200. */
const isTooLong = (status: number, errorText: string): boolean =>
  status === 413 || (tooLongWords.some((words) => words.test(errorText)) && !outputBound.test(errorText));
