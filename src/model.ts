/** What a turn asks of a model provider. The providers live in `model/`. */
import { codePoints } from './text.ts';

export interface ModelMessage {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

export interface ModelRequest {
  /** The provider's name for the model, as the console has it. */
  readonly name: string;
  readonly systemPrompt: string | null;
  /** The conversation in order, the newest message last; already cut to the token budget. */
  readonly messages: readonly ModelMessage[];
  readonly temperature: number | null;
  readonly outputTokensMax: number | null;
  /** Where the credential points; null for the provider's own default. Includes its `/v1`. */
  readonly baseUrl: string | null;
  readonly apiKey: string | null;
  /** The assistant's public name, for the embedded model's talk about itself. */
  readonly assistantName: string;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Why a provider did not answer: for the log and the metrics; a client hears `assistant_unavailable` whatever it is. */
export type ModelFailure =
  | 'credential' // none, refused, or not to be decrypted
  | 'address' // a base URL that may not be called, or that names no host
  | 'connect'
  | 'rate_limit'
  | 'status'
  | 'redirect'
  | 'first_output_timeout'
  | 'idle_timeout'
  | 'malformed'
  | 'provider_error' // an error event within its stream
  | 'cut'; // the connection ended before the answer did

/** Where an answer goes. `text` any number of times, then exactly one of `end` and `failed`; nothing after `cancel`. */
export interface ModelSink {
  /** A piece of the answer, never empty; a surrogate pair may be split between two pieces. */
  text(piece: string): void;
  /** Token counts so far, where the provider gives them: any number of times, of which the last counts. */
  usage(usage: ModelUsage): void;
  end(): void;
  failed(reason: ModelFailure): void;
}

export interface ModelCall {
  /** Stops the answer and closes the upstream request at once. */
  cancel(): void;
  /** Reads no more of the answer until `resume`; what has come already may still be told. Absent where nothing is read. */
  hold?(): void;
  resume?(): void;
}

export interface Model {
  /** The value of `model.provider` in the console. */
  readonly provider: string;
  /** Whether an assistant needs a credential to use it. */
  readonly needsCredential: boolean;
  /** Whether it can read this model name, where not every name will do. */
  accepts?(name: string): boolean;
  /** Begins an answer. Never throws, and never calls the sink before it returns. */
  start(request: ModelRequest, sink: ModelSink): ModelCall;
}

/** The providers by name. */
export type Models = ReadonlyMap<string, Model>;

/** The estimate where a provider counts nothing: one token for every four code points, rounded up. */
export const estimateTokens = (codePoints: number): number => Math.ceil(codePoints / 4);

/** The estimate of what a turn gave its model: the messages of the conversation that it was begun with, the new one included. */
export const estimateInputTokens = (messages: readonly { readonly content: string }[]): number =>
  estimateTokens(messages.reduce((sum, { content }) => sum + codePoints(content), 0));
