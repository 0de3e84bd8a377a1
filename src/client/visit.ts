/**
 * A visitor's way in: instead of an API key, a token that the link gives out and that its holder keeps (contract 9).
 * Imported where there is a link, so it stands alone.
 */
import type { Link, Visitor } from './types.ts';

export interface LinkOptions {
  /** The link's name, as in the address of its page. */
  slug: string;
  /** The origin of the site that frames the page: the visitor is then one of the widget. */
  host?: string;
  /** The visitor of an earlier visit. */
  visitor?: Visitor | null;
  /**
   * Returns a JWT of the site's server that says who the visitor is, for each token that is requested; null for nobody
   * in particular.
   */
  identity?: () => string | null | Promise<string | null>;
  /** Called with each visitor or token that the service gives out, for the next visit. */
  onVisitor?: (visitor: Visitor) => void;
}

/** Sends a request below the link; `token` is null for those that need none. */
type Ask = <T>(
  object: string,
  call: { readonly method?: 'POST'; readonly path: string; readonly body?: object },
  token: string | null,
) => Promise<T>;

export class Visit {
  readonly #options: LinkOptions;
  readonly #ask: Ask;
  #visitor: Visitor | null;
  /** The request for a visitor's name, shared by all requests that wait for it; null otherwise. */
  #naming: Promise<Visitor> | null = null;

  constructor(options: LinkOptions, ask: Ask) {
    this.#options = options;
    this.#ask = ask;
    this.#visitor = options.visitor ?? null;
  }

  about(): Promise<Link> {
    return this.#ask('link', { path: '/about' }, null);
  }

  /** The visitor's token; the first call that needs one names the visitor. */
  async token(): Promise<string> {
    return (this.#visitor ?? (await this.#requestVisitor(null))).token;
  }

  /** The same visitor with a fresh token. */
  renew(): Promise<Visitor> {
    return this.#requestVisitor(this.#visitor?.token ?? null);
  }

  /** The service knows this token no more: the next call is another visitor's. */
  forget(token: string): void {
    if (this.#visitor?.token === token) this.#visitor = null;
  }

  #requestVisitor(token: string | null): Promise<Visitor> {
    this.#naming ??= this.#named(token).finally(() => void (this.#naming = null));
    return this.#naming;
  }

  async #named(token: string | null): Promise<Visitor> {
    const { host, onVisitor } = this.#options;
    const identity = (await this.#options.identity?.()) ?? null;
    const body = {
      ...(host === undefined ? { channel: 'link' } : { channel: 'widget', host }),
      ...(identity !== null && { identity }),
    };
    const visitor = await this.#ask<Visitor>('visitor', { method: 'POST', path: '/visitors', body }, token);
    this.#visitor = visitor;
    onVisitor?.(visitor);
    return visitor;
  }
}
