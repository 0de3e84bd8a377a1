/** An issuer of OpenID Connect that does what a test says: any claim, header, key, status and body. */
import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from '../../folders.ts';

type Endpoint = 'discovery' | 'token' | 'jwks' | 'userinfo';

/** Everything that an issuer may do otherwise than a good one. */
export interface Conduct {
  /** Fields of the description that are replaced. */
  metadata?: Readonly<Record<string, unknown>>;
  /** Claims of the ID token that are replaced. */
  claims?: Readonly<Record<string, unknown>>;
  /** Fields of the ID token's header that are replaced. */
  header?: Readonly<Record<string, unknown>>;
  /** The key that signs; the published one if absent. */
  key?: KeyObject;
  /** The whole ID token. */
  idToken?: unknown;
  userinfo?: Readonly<Record<string, unknown>>;
  /** Answers in place of the issuer. */
  answer?: Partial<Record<Endpoint, (response: ServerResponse, body: string) => void>>;
}

export const makeKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

export class FakeIssuer {
  readonly url: string;
  /** The endpoints that were requested, in order. */
  readonly requests: Endpoint[] = [];
  /** The headers `Authorization` and the bodies that the token endpoint got. */
  readonly tokenRequests: { readonly authorization: string | undefined; readonly body: URLSearchParams }[] = [];
  key = makeKey();
  kid = 'first';
  conduct: Conduct = {};
  /** The nonce of the newest sign-in. */
  nonce = '';
  stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.stop = stop;
  }

  static async start(t: Owner, port = 0): Promise<FakeIssuer> {
    const server = createServer((request, response) => void issuer.#answer(request, response));
    await once(server.listen(port, '127.0.0.1'), 'listening');
    const stop = async (): Promise<void> => {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
    };
    t.teardown(stop);
    const issuer = new FakeIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop);
    return issuer;
  }

  idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const { conduct, url, nonce } = this;
    const claims = { iss: url, sub: 'ada', aud: 'parley', iat: now, exp: now + 60, nonce, ...conduct.claims };
    const header: Record<string, unknown> = { alg: 'ES256', kid: this.kid, ...conduct.header };
    const text = `${part(header)}.${part(claims)}`;
    return `${text}.${signature(String(header['alg']), text, conduct.key ?? this.key)}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url!, this.url).pathname;
    const endpoint = path.endsWith('/openid-configuration') ? 'discovery' : (path.slice(1) as Endpoint);
    let body = '';
    for await (const chunk of request) body += chunk;
    this.requests.push(endpoint);
    if (endpoint === 'token')
      this.tokenRequests.push({ authorization: request.headers.authorization, body: new URLSearchParams(body) });
    const answer = this.conduct.answer?.[endpoint];
    if (answer !== undefined) return answer(response, body);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(this.#good(endpoint)));
  }

  #good(endpoint: Endpoint): unknown {
    const { url, conduct } = this;
    if (endpoint === 'discovery')
      return {
        issuer: url,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/jwks`,
        userinfo_endpoint: `${url}/userinfo`,
        response_types_supported: ['code'],
        id_token_signing_alg_values_supported: ['ES256'],
        ...conduct.metadata,
      };
    if (endpoint === 'jwks') {
      const { kty, crv, x, y } = this.key.export({ format: 'jwk' });
      return { keys: [{ kty, crv, x, y, kid: this.kid, use: 'sig', alg: 'ES256' }] };
    }
    if (endpoint === 'userinfo') return { sub: 'ada', name: 'Ada', groups: ['ops'], ...conduct.userinfo };
    return { access_token: 'an access token', token_type: 'Bearer', id_token: conduct.idToken ?? this.idToken() };
  }
}

function signature(alg: string, text: string, key: KeyObject): string {
  if (alg === 'none') return '';
  if (alg === 'HS256') return createHmac('sha256', 'secret').update(text).digest('base64url');
  return sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');
}
