/** The interface to a model provider. The providers are in `model/`. */
import type { OpaqueFields } from '../base/opaque-fields.ts';

export type ModelMessage = SaidMessage | ToolMessage;

export interface SaidMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
  /**
   * The tool calls that ended a round of the model; each is answered by one of the tool messages that follow. Absent
   * for a round without tool calls.
   */
  readonly calls?: readonly ModelToolCall[];
  /** Came after tool calls that waited, and before their results, which this turn answers. */
  readonly between?: true;
  /** The thoughts behind these calls, in their own turn alone (see `ModelSink.keep`). */
  readonly kept?: unknown;
}

/** The result of a call of a tool. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly callId: string;
  readonly content: string;
}

/** A tool call as it is sent to a model; `arguments` is the text of a JSON object. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Absent where its provider put nothing on it. */
  readonly opaque?: OpaqueFields;
}

/** A function that a model is offered. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string | null;
  /** A JSON Schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A call that an answer must have: one of any function that is offered, or of this one. */
export type ForcedToolCall = 'any' | { readonly name: string };

/** A form of an answer other than text. */
export type AnswerFormat =
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema';
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly description?: string;
      readonly strict?: boolean;
    };

/** Whether the reasoning of an assistant's model is shown. */
export type ReasoningMode = 'hidden' | 'shown';

export interface ModelRequest {
  /** The provider's name for the model, as set in the console. */
  readonly name: string;
  readonly systemPrompt: string | null;
  /** The conversation in order, the newest message last; already cut to the token budget. */
  readonly messages: readonly ModelMessage[];
  /** Absent if none are offered. */
  readonly tools?: readonly ToolOffer[] | undefined;
  /**
   * Functions of before that may not be called any more: for a provider that wants the calls of a history declared.
   * Absent where `tools` is not.
   */
  readonly closedTools?: readonly ToolOffer[] | undefined;
  /** Absent where none is forced, and where no functions are offered. */
  readonly forced?: ForcedToolCall | undefined;
  /** Absent for text. */
  readonly format?: AnswerFormat | undefined;
  readonly temperature: number | null;
  readonly outputTokensMax: number | null;
  /** Whether the model's reasoning is shown. */
  readonly reasoning: ReasoningMode;
  /** The credential's base URL, including its `/v1`; null for the provider's own default. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  /** The assistant's public name, which the embedded model uses when it speaks of itself. */
  readonly assistantName: string;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Input tokens that the provider read from its cache; they are among `inputTokens`. Absent for none. */
  readonly cachedInputTokens?: number | undefined;
}

/**
 * Reason for which a provider did not answer, for the log and the metrics; a client gets `assistant_unavailable`, or
 * 422 if its own request was refused.
 */
export type ModelFailure =
  | 'credential' // none, refused, or not to be decrypted
  | 'address' // a base URL that may not be called, or that names no host
  | 'connect'
  | 'http2' // the server speaks HTTP/2 alone
  | 'proxy' // the operator's proxy does not connect
  | 'rate_limit'
  | 'status'
  | 'redirect'
  | 'first_output_timeout'
  | 'idle_timeout'
  | 'malformed'
  | 'provider_error' // an error event within its stream
  | 'cut' // the connection ended before the answer did
  | WishRefused;

/** A wish of the caller's that the provider refuses by name: the form of the answer, or the call that it must have. */
export type WishRefused = 'format' | 'forced';

/** The functions of a request as its provider has taken them. */
export interface OfferTaken {
  /** The provider (see `OpaqueFields.origin`). */
  readonly origin: string;
  /** Functions that were not offered, because the provider refuses their definitions. */
  readonly withheld: ReadonlySet<string>;
  /** Functions that it has refused in this answer; they are among those withheld. */
  readonly refused: readonly string[];
}

/**
 * Reason for which an answer is incomplete: a bound of its length, a filter of its provider, or a refusal of the model.
 */
export type AnswerCut = 'length' | 'content_filter' | 'refusal';

/** Receives an answer: `text` any number of times, then exactly one of `end` and `failed`; no call after `cancel`. */
export interface ModelSink {
  /** A piece of the answer, never empty; a surrogate pair may be split between two pieces. */
  text(piece: string): void;
  /** Token counts so far, if the provider sends them: any number of times; the last counts. */
  usage(usage: ModelUsage): void;
  /** Reports how many messages were left out to fit the model. Called at most once, before any text. */
  noteLeftOut?(messages: number): void;
  /**
   * The functions that the provider has taken; once for an answer at most, before anything else of it, and not where
   * none were named.
   */
  noteOffered?(taken: OfferTaken): void;
  /**
   * A whole call of a tool, in the model's order; the answer still has its `end`. `arguments`: as the model wrote them.
   */
  call?(call: { readonly name: string; readonly arguments: string }, opaque?: OpaqueFields): void;
  /**
   * The model's thoughts, which the provider wants back with the calls of this answer within the turn; the last counts.
   */
  keep?(thoughts: unknown): void;
  /** The answer has ended; `cut`: why it is not whole, absent if it is. */
  end(cut?: AnswerCut): void;
  failed(reason: ModelFailure): void;
}

export interface ModelStream {
  /** Stops the answer and closes the upstream request at once. */
  cancel(): void;
  /**
   * Stops reading the answer until `resume`; pieces that have arrived may still be passed on. Absent if nothing is
   * read.
   */
  hold?(): void;
  resume?(): void;
}

export interface Model {
  /** The value of `model.provider` in the console. */
  readonly provider: string;
  /** Whether an assistant needs a credential to use it. */
  readonly needsCredential: boolean;
  /** The address of a credential without a base URL; absent for a provider within the process. */
  readonly defaultBaseUrl?: string;
  /** The wishes for an answer that the provider has; absent where it has none. */
  readonly obeys?: { readonly forcedCalls: boolean; readonly formats: readonly AnswerFormat['type'][] };
  /** Whether the provider accepts this model name; absent if it accepts any. */
  accepts?(name: string): boolean;
  /**
   * Checks a key with the provider's cheapest request that needs one: null if the key is accepted, `credential` if it
   * is refused, otherwise the reason for which the check failed. Absent for a provider without keys. Never rejects.
   */
  tryKey?(access: ModelAccess): Promise<ModelFailure | null>;
  /** Begins an answer. Never throws, and never calls the sink before it returns. */
  start(request: ModelRequest, sink: ModelSink): ModelStream;
}

/** Address and key of a provider for requests on a customer's behalf. */
export interface ModelAccess {
  /** Null for the provider's own default. Includes its `/v1`. */
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** The providers by name. */
export type Models = ReadonlyMap<string, Model>;

/**
 * The estimate where a provider counts no tokens, and of what fits into a budget: a token for every four code points of
 * Latin, for every two below U+2E80 (other alphabets, signs), and for each from there on (Chinese, Japanese, Korean,
 * emoji); rounded up.
 */
export const estimateTokens = (text: string): number => Math.ceil(quarters(text) / 4);

/** The estimated input tokens of a turn: the messages of its conversation, including the new one. */
export const estimateInputTokens = (messages: readonly { readonly content: string }[]): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + quarters(content), 0) / 4);

/** V8 finds at once that a text of Latin-1 has none. */
const beyondLatin = /[^\u0000-\u02ff]/;

/** Quarters of tokens. The first half of a surrogate pair counts for both. */
function quarters(text: string): number {
  if (!beyondLatin.test(text)) return text.length;
  let sum = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x300) sum += 1;
    else if (unit < 0x2e80) sum += 2;
    else if (unit < 0xdc00 || unit > 0xdfff) sum += 4;
  }
  return sum;
}

/** The names of all providers of models, also of one that a setting turns on. */
export const modelProviders = ['scripted', 'openai', 'anthropic', 'synthetic'] as const;

/**
 * The ends of addresses in a provider's examples, which are added to a base URL for each request. No `/models`: some
 * endpoints are below one.
 */
const operation = /\/(?:completions|messages|responses|embeddings|audio\/+(?:speech|transcriptions|translations))\/*$/i;

/** Whether a base URL names an operation, so that requests would go to an address below it. */
export const endsInOperation = (baseUrl: string): boolean => operation.test(new URL(baseUrl).pathname);
