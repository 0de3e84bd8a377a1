/** A `fetch` over the HTTP client to every provider: its guard of addresses, its pool, its proxy and its bounds hold for MCP servers too. */
import { limits } from '../../base/limits.ts';
import type { ModelFailure } from '../model.ts';
import type { ProviderCall, ProviderHttp, ProviderListener } from '../client.ts';
import type { ResponseHead } from '../client/head.ts';
import type { ToolAccess } from '../tool.ts';
import { addressOf, sentOfFailure, type Sent } from './sending.ts';
import type { ToolError } from '../../base/tool-errors.ts';

/** The state of one exchange with an MCP server. */
export interface McpExchange {
  /** Whether the call itself is sent now: it goes on a connection of its own, and never again by itself. */
  calling: boolean;
  /** Why the newest request failed; null if it did not. */
  failure: { readonly error: ToolError; readonly again: Sent['again'] } | null;
}

type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** Sends POSTs alone: a stream of the server's own, and the end of a session, are optional and not asked for. */
export const mcpFetch =
  (http: ProviderHttp, tool: ToolAccess, exchange: McpExchange): Fetch =>
  (_url, init) =>
    init?.method === 'POST' ? new Promise((resolve, reject) => post(http, tool, exchange, init, resolve, reject)) : Promise.resolve(new Response(null, { status: 405 }));

function post(http: ProviderHttp, tool: ToolAccess, exchange: McpExchange, init: RequestInit, resolve: (response: Response) => void, reject: (error: Error) => void): void {
  const answer = new McpAnswer(exchange, resolve, reject);
  const sent = { ...Object.fromEntries(new Headers(init.headers)), ...tool.headers };
  exchange.failure = null;
  const call = http.post({ ...addressOf(tool), headers: sent, body: String(init.body), ...(exchange.calling && { once: true }) }, answer, { silenceMs: limits.toolTimeoutSecondsMax * 1000 });
  answer.call = call;
  const leave = (): void => answer.leave();
  if (init.signal?.aborted === true) return leave();
  init.signal?.addEventListener('abort', leave, { once: true });
}

class McpAnswer implements ProviderListener {
  call: ProviderCall | null = null;
  readonly #exchange: McpExchange;
  readonly #resolve: (response: Response) => void;
  readonly #reject: (error: Error) => void;
  #body: ReadableStreamDefaultController<Uint8Array> | null = null;
  #bytes = 0;
  #over = false;

  constructor(exchange: McpExchange, resolve: (response: Response) => void, reject: (error: Error) => void) {
    this.#exchange = exchange;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  head(contentType: string, contentEncoding: string, { status, mcpSession }: ResponseHead): void {
    if (contentEncoding !== '' && contentEncoding !== 'identity') return this.#fail('malformed');
    const headers = { 'content-type': contentType, ...(mcpSession !== '' && { 'mcp-session-id': mcpSession }) };
    const body = status === 204 ? null : new ReadableStream<Uint8Array>({ start: (controller) => void (this.#body = controller), cancel: () => this.leave() });
    this.#resolve(new Response(body, { status, headers }));
  }

  data(chunk: Buffer): void {
    if (this.#over) return;
    this.#bytes += chunk.length;
    if (this.#bytes > limits.toolAnswerBytesMax) return this.#fail('too_large');
    // The bytes are overwritten after the call.
    this.#body?.enqueue(new Uint8Array(chunk));
  }

  ended(): void {
    if (this.#over) return;
    this.#over = true;
    this.#body?.close();
  }

  /** A refusal with a status is an answer too: it tells which era of the protocol the server speaks. */
  failed(failure: ModelFailure, status: number | null, said: string): void {
    const { error, again } = sentOfFailure(failure, status);
    if (status === null || this.#body !== null) return this.#fail(error, again);
    this.#over = true;
    this.#exchange.failure = { error, again };
    this.#resolve(new Response(said, { status, headers: { 'content-type': 'application/json' } }));
  }

  /** The caller needs no more. */
  leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.call?.cancel();
    const gone = new Error('the call is over');
    this.#body?.error(gone);
    this.#reject(gone);
  }

  #fail(error: ToolError, again: Sent['again'] = 'never'): void {
    if (this.#over) return;
    this.#exchange.failure = { error, again };
    this.leave();
  }
}
