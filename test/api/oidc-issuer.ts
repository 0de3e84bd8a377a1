/** A real issuer of OpenID Connect, `oidc-provider`, whose people sign in with their names alone. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
// @ts-expect-error The package has no types.
import Provider from 'oidc-provider';
import type { Owner } from '../folders.ts';
import type { House } from './house.ts';

/** The claims of the people that the issuer knows, by their names. */
export type Accounts = Record<string, Readonly<Record<string, unknown>>>;

export const clientSecret = 'a secret of the client, which no page and no log has';

export class OidcIssuer {
  readonly url: string;
  accounts: Accounts;
  /** Whether ID tokens have the claims of scopes, or userinfo alone. */
  claimsInIdToken = false;
  #listener: RequestListener = (_request, response) => void response.writeHead(503).end();
  #callback = '';

  private constructor(url: string, accounts: Accounts) {
    this.url = url;
    this.accounts = accounts;
  }

  /** Listens, and answers 503 until `serve`: the issuer must know the server, and the server the issuer. */
  static async start(t: Owner, accounts: Accounts): Promise<OidcIssuer> {
    const server = createServer((request, response) => issuer.#listener(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    // Another site than 127.0.0.1, so that browsers hold back what they hold back from other sites.
    const issuer = new OidcIssuer(`http://localhost:${(server.address() as AddressInfo).port}`, accounts);
    return issuer;
  }

  /** The settings of a server that signs people in here. */
  settings(roles: string): Record<string, string> {
    return {
      PARLEY_OIDC_ISSUER: this.url,
      PARLEY_OIDC_CLIENT_ID: 'parley',
      PARLEY_OIDC_CLIENT_SECRET: clientSecret,
      PARLEY_OIDC_ROLES: roles,
    };
  }

  /** Serves the server at this address, with new keys. */
  serve({ url }: Pick<House, 'url'>): void {
    this.#callback = `${url}/console/api/oidc/callback`;
    this.rotate();
  }

  /** Begins anew with other keys, and without the sessions of before. */
  rotate(): void {
    const provider = this.#provider();
    const serve = provider.callback();
    this.#listener = (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, this.url);
      if (!pathname.startsWith('/interaction/')) return serve(request, response);
      const accountId = searchParams.get('name');
      if (accountId === null) return void response.setHeader('content-type', 'text/html').end(form);
      void provider.interactionFinished(request, response, { login: { accountId } });
    };
  }

  /** Answers 503 from now on; `pages`: to servers alone, so that a person may still sign in there. */
  leave({ pages = false } = {}): void {
    const serve = this.#listener;
    this.#listener = (request, response) =>
      pages && /^\/(auth|interaction)/.test(request.url!)
        ? serve(request, response)
        : void response.writeHead(503).end();
  }

  #provider(): any {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return new Provider(this.url, {
      clients: [{ client_id: 'parley', client_secret: clientSecret, redirect_uris: [this.#callback] }],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256' }] },
      cookies: { keys: ['a key of the cookies'] },
      claims: { profile: ['name'], email: ['email'], groups: ['groups'] },
      conformIdTokenClaims: !this.claimsInIdToken,
      features: { devInteractions: { enabled: false } },
      ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: (_: unknown, sub: string) =>
        this.accounts[sub] && { accountId: sub, claims: () => ({ sub, ...this.accounts[sub] }) },
      async loadExistingGrant({ oidc }: any) {
        const known = oidc.session.grantIdFor(oidc.client.clientId);
        if (known !== undefined) return oidc.provider.Grant.find(known);
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId });
        grant.addOIDCScope('openid profile email groups');
        await grant.save();
        return grant;
      },
    });
  }
}

const form = `<!doctype html><title>Issuer</title><form><label>Name <input name="name"></label><button>Continue</button></form>`;
