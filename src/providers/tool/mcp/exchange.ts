/**
 * Sends one message to an MCP server and reads its response, over the HTTP client of all providers: its address guard,
 * its proxy and its bounds apply here too.
 */
import { limits } from '../../../base/limits.ts';
import type { ToolError } from '../../../base/tool-errors.ts';
import type { ProviderRequest, ProviderHttp, ProviderListener } from '../../client.ts';
import type { ResponseHead } from '../../client/head.ts';
import type { ModelFailure } from '../../model.ts';
import type { ToolAccess } from '../../tool.ts';
import { addressOf, sentOfFailure, type SentFailure } from '../sending.ts';
import { AnswerReader, type Answer } from './answer.ts';
import type { McpMessage } from './messages.ts';

/**
 * Outcome of a message. `accepted`: a success without an awaited response. `didNotAct`: the message was refused, or
 * never written.
 */
export type Outcome =
  | { readonly kind: 'answer'; readonly answer: Answer; readonly session: string; readonly bytes: number }
  | { readonly kind: 'accepted' }
  | ({
      readonly kind: 'refusal';
      readonly status: number;
      readonly errorText: string;
      readonly location: string;
    } & SentFailure)
  | ({ readonly kind: 'failure' } & SentFailure);

export interface Exchange {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>;
  /** Closes the connection; the outcome is a `timeout`, unless another is known. */
  cut(): void;
}

export interface ExchangeOptions {
  /** Path, if a redirect named another one than the tool's. */
  readonly path: string;
  /** Sends on a new connection and never retries by itself. */
  readonly once?: boolean;
  /** See `ProviderPost`. */
  readonly mayWrite?: () => Promise<boolean>;
  /** Called for a request of the server to its client. */
  readonly asked?: (id: string | number, method: string) => void;
}

export const failure = (error: ToolError, again: SentFailure['again'] = 'never'): Outcome => ({
  kind: 'failure',
  error,
  again,
  didNotAct: false,
});

/** Maximum number of a server's requests that are read in one response. */
const asksMax = 16;

export function exchange(
  http: ProviderHttp,
  tool: ToolAccess,
  message: McpMessage,
  options: ExchangeOptions,
): Exchange {
  const reader = new ExchangeReader(message.id, options.asked);
  const post = {
    baseUrl: addressOf(tool).baseUrl,
    path: options.path,
    headers: { ...message.headers, ...tool.headers },
    body: message.body,
    ...(options.once === true && { once: true as const }),
    ...(options.mayWrite && { mayWrite: options.mayWrite }),
  };
  reader.call = http.post(post, reader, { silenceMs: limits.toolTimeoutSecondsMax * 1000 });
  return reader;
}

class ExchangeReader implements ProviderListener, Exchange {
  call: ProviderRequest | null = null;
  readonly outcome: Promise<Outcome>;
  readonly #id: number | null;
  readonly #asked: ExchangeOptions['asked'];
  #resolve!: (outcome: Outcome) => void;
  #reader: AnswerReader | null = null;
  #session = '';
  #bytes = 0;
  #asks = 0;
  #over = false;

  constructor(id: number | null, asked: ExchangeOptions['asked']) {
    this.#id = id;
    this.#asked = asked;
    this.outcome = new Promise((resolve) => (this.#resolve = resolve));
  }

  head(contentType: string, contentEncoding: string, { mcpSession }: ResponseHead): void {
    if (contentEncoding !== '' && contentEncoding !== 'identity') return this.#give(failure('malformed'));
    this.#session = mcpSession;
    this.#reader = new AnswerReader(this.#id, contentType, {
      answered: (answer) => this.#finish({ kind: 'answer', answer, session: this.#session, bytes: this.#bytes }),
      asked: (id, method) => {
        if (!this.#over && this.#asks++ < asksMax) this.#asked?.(id, method);
      },
    });
    if (this.#id !== null) return;
    this.#finish({ kind: 'accepted' });
    this.call?.release();
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.length;
    if (this.#bytes > limits.toolAnswerBytesMax) return this.#give(failure('too_large'));
    this.#reader?.feed(chunk);
    if (this.#over) this.call?.release();
  }

  ended(): void {
    if (this.#over) return;
    this.#reader?.end();
    this.#finish(this.#reader?.isStream === true ? failure('unreachable', 'repeatable') : failure('malformed'));
  }

  failed(why: ModelFailure, status: number | null, errorText: string, location: string): void {
    const sent = sentOfFailure(why, status);
    this.#finish(
      status === null ? { kind: 'failure', ...sent } : { kind: 'refusal', status, errorText, location, ...sent },
    );
  }

  cut(): void {
    this.#give(failure('timeout'));
  }

  /** Ends the exchange here. */
  #give(outcome: Outcome): void {
    if (this.#over) return;
    this.#finish(outcome);
    this.call?.cancel();
  }

  #finish(outcome: Outcome): void {
    if (this.#over) return;
    this.#over = true;
    this.#resolve(outcome);
  }
}
