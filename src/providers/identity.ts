/** The issuer by which people sign in to the console (contract 22), as the rest of the server sees it. */
import type { Claims } from '../base/claims.ts';

/** The values that bind an answer of the issuer to the browser that asked for it. */
export interface SignInBinding {
  readonly state: string;
  readonly nonce: string;
  /** The verifier of PKCE. */
  readonly verifier: string;
  readonly redirectUri: string;
}

/** A person, as the issuer describes them. */
export interface Identity {
  /** The issuer's own name for itself. */
  readonly issuer: string;
  /** Identifies the person at the issuer. */
  readonly subject: string;
  /** The claims of the ID token, and of userinfo where these were requested. */
  readonly claims: readonly Claims[];
}

export interface IdentityProvider {
  /** Returns the address at which the issuer signs a person in. Rejects with `IssuerAway`. */
  begin(binding: SignInBinding): Promise<string>;
  /**
   * Exchanges the code in the query of the callback for the person. Requests userinfo if the ID token lacks one of the
   * claims. Rejects with `IssuerAway` or `IdentityRefused`.
   */
  finish(query: string, binding: SignInBinding, claims: readonly string[]): Promise<Identity>;
}

/** The issuer does not answer, or not as an issuer does. The message is ours and names no secret. */
export class IssuerAway extends Error {}

/** The issuer refuses, or its answer proves nothing. The message is ours and names no secret. */
export class IdentityRefused extends Error {}
