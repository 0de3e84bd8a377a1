/**
 * An issuer of OpenID Connect, by `openid-client`: the authorization code flow with PKCE, state and nonce. The library
 * is loaded with the first sign-in. It checks the ID token's signature, issuer, audience, times and nonce.
 */
import type { Clock } from '../../base/clock.ts';
import { claimOf, type Claims } from '../../base/claims.ts';
import type { OidcSettings } from '../../base/config/oidc.ts';
import type { ProviderHttp } from '../client.ts';
import { IdentityRefused, IssuerAway, type Identity, type IdentityProvider, type SignInBinding } from '../identity.ts';
import { issuerFetch, type Fetch } from './fetch.ts';

/** Sign-ins at a time that wait for the issuer. */
export const oidcFinishesMax = 32;
/** Milliseconds for which sign-ins are finished with the issuer's description of itself. */
const oidcDiscoveryMs = 10 * 60_000;

type Library = typeof import('openid-client');
type Metadata = import('openid-client').ServerMetadata;
type Configuration = import('openid-client').Configuration;

export interface OpenidOptions {
  readonly settings: OidcSettings;
  readonly http: ProviderHttp;
  readonly clock: Clock;
  /** `PARLEY_ALLOW_PRIVATE_PROVIDERS`. */
  readonly allowPrivate: boolean;
}

/** Scopes that are requested if the issuer offers them. Issuers differ in whether they ignore one that they lack. */
const scopes = ['profile', 'email', 'groups', 'roles'];

export class OpenidProvider implements IdentityProvider {
  readonly #options: OpenidOptions;
  #metadata: { readonly value: Metadata; readonly until: number } | null = null;
  #discovery: Promise<Metadata> | null = null;
  /** Number of sign-ins that wait for the issuer. */
  #waiting = 0;

  constructor(options: OpenidOptions) {
    this.#options = options;
  }

  async begin({ state, nonce, verifier, redirectUri }: SignInBinding): Promise<string> {
    const library = await import('openid-client');
    const fetch = this.#fetch();
    try {
      // Asked anew, because a page of ours is better than a browser that finds nobody there.
      const metadata = await this.#discover(library, fetch);
      return library.buildAuthorizationUrl(this.#configuration(library, metadata, fetch), {
        redirect_uri: redirectUri,
        scope: this.#scope(metadata),
        state,
        nonce,
        code_challenge: await library.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).href;
    } catch (error) {
      throw asAway(error);
    }
  }

  async finish(query: string, binding: SignInBinding, claims: readonly string[]): Promise<Identity> {
    if (this.#waiting >= oidcFinishesMax) throw new IssuerAway('too many sign-ins wait for the issuer');
    this.#waiting++;
    try {
      return await this.#finish(query, binding, claims);
    } finally {
      this.#waiting--;
    }
  }

  async #finish(query: string, binding: SignInBinding, claims: readonly string[]): Promise<Identity> {
    const library = await import('openid-client');
    const fetch = this.#fetch();
    const known = this.#metadata;
    const isFresh = known !== null && this.#options.clock.monotonic() < known.until;
    const metadata = isFresh
      ? known.value
      : await this.#discover(library, fetch).catch((error: unknown) => {
          throw asAway(error);
        });
    try {
      return await this.#exchange(
        library,
        metadata,
        fetch,
        new URL(`${binding.redirectUri}?${query}`),
        binding,
        claims,
      );
    } catch (error) {
      const failure = failureOf(error, library);
      // The issuer may have moved: the next sign-in reads its description again.
      if (failure instanceof IssuerAway) this.#metadata = null;
      throw failure;
    }
  }

  async #exchange(
    library: Library,
    metadata: Metadata,
    fetch: Fetch,
    callback: URL,
    { state, nonce, verifier }: SignInBinding,
    wanted: readonly string[],
  ): Promise<Identity> {
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
    // A configuration for each sign-in: the library keeps keys with it, and would miss that the issuer rotates them.
    const configuration = this.#configuration(library, metadata, fetch);
    const tokens = await library.authorizationCodeGrant(configuration, callback, checks).catch((error: unknown) => {
      // A client that is registered for the other way of sending its secret. The issuer has not looked at the code.
      if (!isOtherAuthentication(error, metadata, library)) throw error;
      return library.authorizationCodeGrant(this.#configuration(library, metadata, fetch, true), callback, checks);
    });
    const idToken: Claims = tokens.claims()!;
    const subject = tokens.claims()!.sub;
    const isComplete = wanted.every((claim) => claimOf([idToken], claim) !== undefined);
    if (isComplete || metadata.userinfo_endpoint === undefined)
      return { issuer: metadata.issuer, subject, claims: [idToken] };
    const userinfo: Claims = await library.fetchUserInfo(configuration, tokens.access_token, subject);
    return { issuer: metadata.issuer, subject, claims: [idToken, userinfo] };
  }

  #fetch(): Fetch {
    const { http, clock, allowPrivate } = this.#options;
    return issuerFetch(http, clock, allowPrivate);
  }

  /** Requests the issuer's description of itself; calls that come meanwhile share the answer. */
  #discover(library: Library, fetch: Fetch): Promise<Metadata> {
    this.#discovery ??= this.#request(library, fetch)
      .then((value) => {
        this.#metadata = { value, until: this.#options.clock.monotonic() + oidcDiscoveryMs };
        return value;
      })
      .finally(() => (this.#discovery = null));
    return this.#discovery;
  }

  async #request(library: Library, fetch: Fetch): Promise<Metadata> {
    const { issuer, clientId, clientSecret } = this.#options.settings;
    const found = await library.discovery(
      new URL(issuer),
      clientId,
      undefined,
      library.ClientSecretBasic(clientSecret),
      { [library.customFetch]: fetch, execute: [library.allowInsecureRequests] },
    );
    return found.serverMetadata();
  }

  #configuration(library: Library, metadata: Metadata, fetch: Fetch, other = false): Configuration {
    const { clientId, clientSecret } = this.#options.settings;
    const basic = usesBasic(metadata) !== other;
    const authentication = basic ? library.ClientSecretBasic(clientSecret) : library.ClientSecretPost(clientSecret);
    const made = new library.Configuration({ ...metadata }, clientId, undefined, authentication);
    made[library.customFetch] = fetch;
    // The addresses are checked with each request.
    library.allowInsecureRequests(made);
    library.enableNonRepudiationChecks(made);
    return made;
  }

  #scope({ scopes_supported: offered }: Metadata): string {
    const named = this.#options.settings.rules.map(({ claim }) => claim);
    const wanted = offered === undefined ? ['profile', 'email'] : [...scopes, ...named];
    return ['openid', ...new Set(wanted.filter((scope) => offered === undefined || offered.includes(scope)))].join(' ');
  }
}

/** Whether the secret is sent in `Authorization`, as OpenID Connect has it unless the issuer says otherwise. */
const usesBasic = ({ token_endpoint_auth_methods_supported: methods }: Metadata): boolean =>
  methods === undefined || methods.includes('client_secret_basic') || !methods.includes('client_secret_post');

const offersBoth = ({ token_endpoint_auth_methods_supported: methods }: Metadata): boolean =>
  ['client_secret_basic', 'client_secret_post'].every((method) => methods?.includes(method));

const isOtherAuthentication = (error: unknown, metadata: Metadata, library: Library): boolean =>
  offersBoth(metadata) &&
  (statusOf(error) === 401 || (error instanceof library.ResponseBodyError && error.error === 'invalid_client'));

/** The status of an answer that the library could not use; null for another error. */
const statusOf = (error: unknown): number | null =>
  error instanceof Error && error.cause instanceof Response ? error.cause.status : null;

/** Codes of errors with which an issuer says that it cannot answer now (RFC 6749, 4.1.2.1). */
const passing = ['server_error', 'temporarily_unavailable'];

/** Codes of the library for an answer that is not of an issuer at all. */
const garbled = ['OAUTH_PARSE_ERROR', 'OAUTH_RESPONSE_IS_NOT_JSON'];

/**
 * The failure of a sign-in. A message has nothing of the issuer's text but a code that the standard defines the form
 * of: an answer may hold tokens, and the log is no place for them.
 */
function failureOf(error: unknown, library: Library): IssuerAway | IdentityRefused {
  const away = awayOf(error);
  if (away !== null) return away;
  if (error instanceof library.ResponseBodyError || error instanceof library.AuthorizationResponseError) {
    const code = /^[\w.-]{1,64}$/.test(error.error) ? error.error : 'an error';
    return passing.includes(code)
      ? new IssuerAway(`the issuer reports ${code}`)
      : new IdentityRefused(`the issuer reports ${code}`);
  }
  const status = statusOf(error);
  if (status !== null && ![400, 401, 403].includes(status)) return new IssuerAway(`the issuer answers ${status}`);
  const code = codeOf(error);
  if (garbled.includes(code)) return new IssuerAway(`the answer of the issuer cannot be read (${code})`);
  return new IdentityRefused(`the answer of the issuer is not valid (${status ?? code})`);
}

/** The failure of a request for the issuer's description of itself. */
const asAway = (error: unknown): IssuerAway =>
  awayOf(error) ?? new IssuerAway(`the description of the issuer cannot be used (${statusOf(error) ?? codeOf(error)})`);

/** The failure of `issuerFetch` that an error of the library wraps; null without one. */
function awayOf(error: unknown): IssuerAway | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof IssuerAway) return cause;
  return null;
}

/** The library's code of an error. */
function codeOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : 'no code';
}
