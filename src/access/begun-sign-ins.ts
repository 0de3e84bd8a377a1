/**
 * Sign-ins that have begun at an issuer of OpenID Connect (contract 22). All that the callback needs is in a cookie of
 * the browser, sealed, so that a begun sign-in costs the server nothing, and any process finishes it. Each has another
 * cookie, so that several tabs may sign in at once.
 */
import { cookiesOf, cookieText } from './cookies.ts';
import type { SealedTexts } from './sealed-text.ts';
import type { RequestHead } from '../base/edge.ts';
import { randomToken, type Ids } from '../base/ids.ts';
import { limits } from '../base/limits.ts';

/** Sign-ins begun in one browser, each with a cookie of at most a kilobyte. */
export const oidcSignInsBegunMax = 8;

export interface BegunSignIn {
  readonly nonce: string;
  /** The verifier of PKCE. */
  readonly verifier: string;
  readonly redirectUri: string;
  /** The path of the console's page that the person came from. */
  readonly to: string;
  /** The sign-in that the browser had before; null without one. */
  readonly replaces: string | null;
}

type Sealed = readonly [
  nonce: string,
  verifier: string,
  redirectUri: string,
  to: string,
  replaces: string | null,
  expiresAt: number,
];

/** The slot names the cookie; the rest is known to this browser and the issuer alone. */
const statePattern = /^([\w-]{8})\.[\w-]{22}$/;

export class BegunSignIns {
  readonly #texts: SealedTexts;
  readonly #ids: Pick<Ids, 'bytes'>;
  /** Beginning of the names of the cookies. */
  readonly #prefix: string;

  constructor(texts: SealedTexts, ids: Pick<Ids, 'bytes'>, cookieName: string) {
    this.#texts = texts;
    this.#ids = ids;
    this.#prefix = `${cookieName}-oidc-`;
  }

  /** Draws the values that bind the issuer's answer to this browser. */
  draw(head: RequestHead): { readonly state: string; readonly nonce: string; readonly verifier: string } {
    return {
      state: `${this.#slot(head)}.${randomToken(this.#ids, 16)}`,
      nonce: randomToken(this.#ids, 16),
      verifier: randomToken(this.#ids, 32),
    };
  }

  /** The header `Set-Cookie` that leaves a begun sign-in in the browser. */
  keep(state: string, { nonce, verifier, redirectUri, to, replaces }: BegunSignIn, nowSeconds: number): string {
    const sealed: Sealed = [nonce, verifier, redirectUri, to, replaces, nowSeconds + limits.oidcSignInSeconds];
    const value = this.#texts.seal(JSON.stringify(sealed), state);
    return cookieText(this.#name(state), value, limits.oidcSignInSeconds, 'Lax');
  }

  /** The begun sign-in of a state; null if this browser did not begin it, or too long ago. */
  find(head: RequestHead, state: string, nowSeconds: number): BegunSignIn | null {
    if (!statePattern.test(state)) return null;
    for (const [name, value] of cookiesOf(head)) {
      const text = name === this.#name(state) ? this.#texts.open(value, state) : null;
      if (text === null) continue;
      const [nonce, verifier, redirectUri, to, replaces, expiresAt] = JSON.parse(text) as Sealed;
      return nowSeconds < expiresAt ? { nonce, verifier, redirectUri, to, replaces } : null;
    }
    return null;
  }

  /** The header `Set-Cookie` that removes a state's cookie; null for a text that is no state. */
  forget(state: string): string | null {
    return statePattern.test(state) ? cookieText(this.#name(state), '', 0, 'Lax') : null;
  }

  /**
   * A new slot, while the browser has few. Another site may lead a browser here any number of times: then a slot
   * is used again, so that the cookies of a request stay within the bound of its head.
   */
  #slot(head: RequestHead): string {
    const slots = cookiesOf(head)
      .map(([name]) => name)
      .filter((name) => name.startsWith(this.#prefix))
      .map((name) => name.slice(this.#prefix.length))
      .filter((slot) => /^[\w-]{8}$/.test(slot));
    // Browsers send the oldest cookie first.
    return slots.length < oidcSignInsBegunMax ? randomToken(this.#ids, 6) : slots[0]!;
  }

  #name(state: string): string {
    return `${this.#prefix}${state.slice(0, 8)}`;
  }
}
