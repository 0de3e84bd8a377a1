/** Signing in to the console by OpenID Connect (contract 22): the way to the issuer, and the way back. */
import { clientAddress } from '../../access/client-address.ts';
import { cookieOf, cookieText } from '../../access/cookies.ts';
import type { BegunSignIn } from '../../access/begun-sign-ins.ts';
import { grantOf } from '../../access/oidc-roles.ts';
import { mayUseCookie, returnOrigin } from '../../access/own-origins.ts';
import { signInEnd } from '../../access/sign-ins.ts';
import { claimOf } from '../../base/claims.ts';
import { secondsOf } from '../../base/clock.ts';
import type { RequestHead } from '../../base/edge.ts';
import { limits } from '../../base/limits.ts';
import type { OidcSettings } from '../../base/config/oidc.ts';
import type { Grant } from '../../base/roles.ts';
import { firstLine } from '../../base/text.ts';
import type { Services } from '../../conversation/services.ts';
import { IdentityRefused, IssuerAway, type Identity } from '../../providers/identity.ts';
import type { Workspace } from '../../store/store.ts';
import { pageHeaders } from '../pages.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { failedSignInPage, failedSignInPolicy, signInFailures } from '../sign-in-page.ts';
import { signingEntry } from './audit.ts';
import { nowhere } from './common.ts';
import { releaseWithoutRole } from './people.ts';
import { recordsOf } from '../../store/parts/catalog.ts';

/** Characters of the page's path to which a sign-in returns. */
const oidcPathCharactersMax = 256;

type Oidc = NonNullable<Services['oidc']>;

const oidcOf = ({ oidc }: Services): Oidc => {
  if (oidc === null) throw nowhere();
  return oidc;
};

/** The ways to sign in that the sign-in page offers. */
export function signInOptions({ services: { config } }: Request<NobodyCaller>): Reply {
  return {
    status: 200,
    headers: { 'cache-control': 'no-store' },
    json: { object: 'sign_in_options', oidc: config.oidc && { name: issuerName(config.oidc) } },
  };
}

const knownIssuers: Readonly<Record<string, string>> = {
  'accounts.google.com': 'Google',
  'login.microsoftonline.com': 'Microsoft',
};

/** The name of the issuer on the button. */
function issuerName({ issuer }: OidcSettings): string {
  const { host } = new URL(issuer);
  return knownIssuers[host] ?? host;
}

/** Leads the browser to the issuer, and leaves what the way back needs in a cookie. */
export async function beginOidc({ head, requestId, services }: Request<NobodyCaller>): Promise<Reply> {
  const { provider, begun } = oidcOf(services);
  const { config, clock } = services;
  const way: Way = { requestId, to: pathOf(head), setCookie: null };
  const origin = returnOrigin(head, config);
  if (origin === null) return failed('insecure', way);
  const drawn = begun.draw(head);
  const binding = { ...drawn, redirectUri: `${origin}/console/api/oidc/callback` };
  try {
    const location = await provider.begin(binding);
    const sealed = { ...binding, to: way.to, replaces: await signInBefore(head, services) };
    return redirect(location, begun.keep(drawn.state, sealed, secondsOf(clock.now())));
  } catch (error) {
    return failedAtIssuer(error, way, services);
  }
}

/** The facts that the page of a failure needs. */
interface Way {
  readonly requestId: string;
  /** The page of the console that the person came from. */
  readonly to: string;
  /** The header that removes the cookie of the begun sign-in, which is used once; null without one. */
  readonly setCookie: string | null;
}

/** The page of the console that the sign-in leads back to. */
function pathOf({ query }: RequestHead): string {
  const to = new URLSearchParams(query).get('to') ?? '';
  return to.length <= oidcPathCharactersMax && /^\/console(?:[/?][\x21-\x5b\x5d-\x7e]*)?$/.test(to) ? to : '/console';
}

/** The sign-in of this browser, which the new one replaces. On the way back the browser does not show its cookie. */
async function signInBefore(head: RequestHead, { config, signIns }: Services): Promise<string | null> {
  const cookie = cookieOf(head, signIns.cookieName);
  const shown = cookie !== null && mayUseCookie(head, 'changes', config) ? await signIns.use(cookie) : null;
  return shown === null ? null : shown.signIn.id;
}

/** Signs the person in whom the issuer has sent back. */
export async function finishOidc({ head, requestId, services }: Request<NobodyCaller>): Promise<Reply> {
  const { provider, begun } = oidcOf(services);
  const { config, clock, failedSignIns } = services;
  const { rules } = config.oidc!;
  const address = clientAddress(head, config.trustedProxies);
  const state = new URLSearchParams(head.query).get('state') ?? '';
  const found = begun.find(head, state, secondsOf(clock.now()));
  const way: Way = { requestId, to: found?.to ?? '/console', setCookie: begun.forget(state) };
  const seconds = found === null ? failedSignIns.take(address) : failedSignIns.reserve(address);
  if (seconds !== null) return throttled(seconds, way, services);
  if (found === null) return failed('unknown', way);
  let identity: Identity;
  try {
    const claims = rules.map(({ claim }) => claim);
    identity = await provider.finish(head.query, { state, ...found }, claims);
  } catch (error) {
    if (!(error instanceof IdentityRefused)) failedSignIns.release(address);
    return failedAtIssuer(error, way, services);
  }
  failedSignIns.release(address);
  const grant = grantOf(rules, identity.claims, await namedWorkspaces(services));
  if (grant === null) return failed('noRole', way);
  return admit(identity, grant, found, address, head, way, services);
}

/** Begins the sign-in of a person who has a role. */
async function admit(
  identity: Identity,
  grant: Grant,
  { to, replaces }: BegunSignIn,
  address: string,
  head: RequestHead,
  way: Way,
  services: Services,
): Promise<Reply> {
  const { signIns, clock } = services;
  const agent = head.headers('user-agent')[0]?.slice(0, limits.agentCharactersMax) ?? null;
  const { issuer, subject } = identity;
  const begun = await signIns.beginIdentified(
    { issuer, subject, name: nameOf(identity), grant },
    { address, agent },
    (signIn, granted) => signingEntry('sign_in', signIn, granted, { head, services }),
  );
  if (begun === null) return failed('blocked', way);
  const { signIn, cookie } = begun;
  const person = await signIns.people.find(signIn.person.id);
  const by = { kind: 'person', ...signIn.person } as const;
  if (person !== null) await releaseWithoutRole(person, { requestId: way.requestId, by }, services);
  if (replaces !== null)
    await signIns.end(replaces, (one, granted) => signingEntry('sign_out', one, granted, { head, services }));
  const signedIn = cookieText(signIns.cookieName, cookie, signInEnd(signIn) - secondsOf(clock.now()));
  return redirect(to, [signedIn, ...(way.setCookie === null ? [] : [way.setCookie])]);
}

/** The name of a person in one line: the first of the claims that has a text. */
function nameOf({ claims, subject }: Identity): string {
  const names = [...['name', 'preferred_username', 'email'].map((claim) => claimOf(claims, claim)), subject];
  const lines = names.map((name) => (typeof name === 'string' ? lineOf(name) : ''));
  return lines.find((line) => line !== '') ?? 'somebody';
}

/** A text without line breaks, control characters and invisible ones. */
const lineOf = (text: string): string => firstLine(text.replace(/[\p{C}\p{Z}]/gu, ' '), limits.personNameCharactersMax);

/** The workspaces that the rules name. */
async function namedWorkspaces({ config, store }: Services): Promise<Workspace[]> {
  const names = new Set(config.oidc!.rules.flatMap(({ workspace }) => workspace ?? []));
  const found: Workspace[] = [];
  if (names.size === 0) return found;
  for await (const workspace of recordsOf(store.catalog, 'workspace', ''))
    if (names.has(workspace.id) || names.has(workspace.name)) found.push(workspace);
  return found;
}

/** The answer for a failure at the issuer; its reason is in the log alone. */
function failedAtIssuer(error: unknown, way: Way, { log }: Services): Reply {
  const isAway = error instanceof IssuerAway;
  if (!isAway && !(error instanceof IdentityRefused)) throw error;
  log.warn({ request_id: way.requestId, why: error.message }, 'A sign-in by OpenID Connect failed at the issuer.');
  return failed(isAway ? 'away' : 'refused', way);
}

function throttled(seconds: number, way: Way, { metrics }: Services): Reply {
  metrics.limited.inc('authentication');
  const reply = failed('throttled', way);
  return { ...reply, headers: { ...reply.headers, 'retry-after': String(seconds) } };
}

/** The page of a failure. */
function failed(name: keyof typeof signInFailures, { requestId, to, setCookie }: Way): Reply {
  const failure = signInFailures[name];
  return {
    status: failure.status,
    headers: {
      ...pageHeaders,
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': failedSignInPolicy,
      ...(setCookie !== null && { 'set-cookie': setCookie }),
    },
    text: failedSignInPage(failure, requestId, to),
  };
}

const redirect = (location: string, setCookie: string | string[]): Reply => ({
  status: 302,
  headers: { location, 'set-cookie': setCookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
  empty: true,
});
