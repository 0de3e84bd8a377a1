/** The interface to a model provider. The providers are in `model/`. */
import { codePoints } from './text.ts';

export interface ModelMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export interface ModelRequest {
  /** The provider's name for the model, as set in the console. */
  readonly name: string;
  readonly systemPrompt: string | null;
  /** The conversation in order, the newest message last; already cut to the token budget. */
  readonly messages: readonly ModelMessage[];
  readonly temperature: number | null;
  readonly outputTokensMax: number | null;
  /** The credential's base URL, including its `/v1`; null for the provider's own default. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  /** The assistant's public name, which the embedded model uses when it speaks of itself. */
  readonly assistantName: string;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Why a provider did not answer, for the log and the metrics; a client always gets `assistant_unavailable`. */
export type ModelFailure =
  | 'credential' // none, refused, or not to be decrypted
  | 'address' // a base URL that may not be called, or that names no host
  | 'connect'
  | 'proxy' // the operator's proxy does not connect
  | 'rate_limit'
  | 'status'
  | 'redirect'
  | 'first_output_timeout'
  | 'idle_timeout'
  | 'malformed'
  | 'provider_error' // an error event within its stream
  | 'cut'; // the connection ended before the answer did

/** Receives an answer: `text` any number of times, then exactly one of `end` and `failed`; no call after `cancel`. */
export interface ModelSink {
  /** A piece of the answer, never empty; a surrogate pair may be split between two pieces. */
  text(piece: string): void;
  /** Token counts so far, if the provider sends them: any number of times; the last counts. */
  usage(usage: ModelUsage): void;
  end(): void;
  failed(reason: ModelFailure): void;
}

export interface ModelCall {
  /** Stops the answer and closes the upstream request at once. */
  cancel(): void;
  /** Stops reading the answer until `resume`; pieces that have arrived may still be passed on. Absent if nothing is read. */
  hold?(): void;
  resume?(): void;
}

export interface Model {
  /** The value of `model.provider` in the console. */
  readonly provider: string;
  /** Whether an assistant needs a credential to use it. */
  readonly needsCredential: boolean;
  /** Whether the provider accepts this model name; absent if it accepts any. */
  accepts?(name: string): boolean;
  /**
   * Asks the provider whether it takes the key, with the cheapest request that tells: null if it does, `credential` if it does
   * not, else why that is not known. Absent where there are no keys. Never rejects.
   */
  tryKey?(access: ModelAccess): Promise<ModelFailure | null>;
  /** Begins an answer. Never throws, and never calls the sink before it returns. */
  start(request: ModelRequest, sink: ModelSink): ModelCall;
}

/** How to reach a provider on a customer's behalf. */
export interface ModelAccess {
  /** Null for the provider's own default. Includes its `/v1`. */
  readonly baseUrl: string | null;
  readonly apiKey: string;
}

/** The providers by name. */
export type Models = ReadonlyMap<string, Model>;

/** The estimate for a provider that counts no tokens: one token for every four code points, rounded up. */
export const estimateTokens = (codePoints: number): number => Math.ceil(codePoints / 4);

/** The estimated input tokens of a turn: the messages of its conversation, including the new one. */
export const estimateInputTokens = (messages: readonly { readonly content: string }[]): number =>
  estimateTokens(messages.reduce((sum, { content }) => sum + codePoints(content), 0));
