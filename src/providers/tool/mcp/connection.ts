/** A connection to an MCP server: the agreed protocol and its messages. */
import type { Json } from '../../../base/json.ts';
import type { ProviderHttp } from '../../client.ts';
import type { ToolAccess } from '../../tool.ts';
import { addressOf } from '../sending.ts';
import { exchange, type Exchange } from './exchange.ts';
import { notificationOf, replyTo, requestOf, sessionHeaders, type Protocol } from './messages.ts';

export interface AskOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly once?: boolean;
  /** See `ProviderPost`. */
  readonly mayWrite?: () => Promise<boolean>;
}

export class McpConnection {
  readonly protocol: Protocol;
  readonly #http: ProviderHttp;
  readonly #tool: ToolAccess;
  readonly #path: string;
  /** Ids are unique in a session; the handshake has used the first ones. */
  #lastId = 99;

  /** Constructs a connection. `path`: path that answered the handshake. */
  constructor(http: ProviderHttp, tool: ToolAccess, protocol: Protocol, path: string) {
    this.protocol = protocol;
    this.#http = http;
    this.#tool = tool;
    this.#path = path;
  }

  ask(method: string, params: Json, { headers, once, mayWrite }: AskOptions = {}): Exchange {
    const id = ++this.#lastId;
    const { protocol } = this;
    const asked =
      protocol.era === 'legacy'
        ? (askedId: string | number, name: string) => this.#post(replyTo(protocol, askedId, name))
        : undefined;
    const sent = exchange(this.#http, this.#tool, requestOf(protocol, id, method, params, headers), {
      path: this.#path,
      ...(once && { once }),
      ...(mayWrite && { mayWrite }),
      ...(asked && { asked }),
    });
    const cut = (): void => {
      sent.cut();
      // A legacy server may close a connection at any time, which says nothing about the request (Streamable HTTP,
      // "Sending Messages").
      if (protocol.era === 'legacy')
        this.#post(
          notificationOf(protocol, 'notifications/cancelled', { requestId: id, reason: 'The call was cancelled.' }),
        );
    };
    return { outcome: sent.outcome, cut };
  }

  /** Sends a message and ignores its outcome. */
  #post(message: Parameters<typeof exchange>[2]): Exchange {
    return exchange(this.#http, this.#tool, message, { path: this.#path });
  }

  /** Notifies a legacy server that the handshake is complete. Resolves with any response. */
  initialized(): Exchange | null {
    return this.protocol.era === 'legacy'
      ? this.#post(notificationOf(this.protocol, 'notifications/initialized'))
      : null;
  }

  /** Ends the session, if the server has one. Resolves once the server has responded in any way. */
  end(): Promise<void> {
    const { protocol } = this;
    if (protocol.era !== 'legacy' || protocol.session === '') return Promise.resolve();
    const headers = { ...sessionHeaders(protocol), ...this.#tool.headers };
    return new Promise((resolve) => {
      const ended = (): void => resolve();
      this.#http.get(
        { baseUrl: addressOf(this.#tool).baseUrl, path: this.#path, headers, method: 'DELETE' },
        { head: () => {}, data: () => {}, ended, failed: ended },
      );
    });
  }
}
