/**
 * Our own origins: where browsers reach the console, and which requests come from its own pages (contract 9).
 *
 * `PARLEY_CONSOLE_ORIGIN` names them. Without it `PARLEY_PUBLIC_URL` is ours, and so is the request's own address,
 * under two conditions: over plain HTTP it must be a name of loopback, which browsers resolve by themselves, and any
 * other name counts only where a trusted proxy says that the client came by TLS. So a name of somebody else's that was
 * made to point at this machine (DNS rebinding) is never ours: its pages can neither sign in nor use a sign-in.
 */
import { BlockList, isIP } from 'node:net';
import { clientAddress, cameByTls, isBehindTrustedProxy } from './client-address.ts';
import type { Config } from '../base/config.ts';
import type { RequestHead, ResponseHeaders } from '../base/edge.ts';

type OriginConfig = Pick<Config, 'publicUrl' | 'consoleOrigins' | 'trustedProxies'>;

/** The origin at which the client reached this server, under any of the server's names; null if it is unknown. */
export function reachedOrigin(head: RequestHead, { trustedProxies }: Pick<Config, 'trustedProxies'>): string | null {
  const forwarded = isBehindTrustedProxy(head, trustedProxies)
    ? head.headers('x-forwarded-host')[0]?.split(',')[0]!.trim()
    : undefined;
  const host = forwarded || head.headers('host')[0];
  const url = `${cameByTls(head, trustedProxies) ? 'https' : 'http'}://${host}`;
  // A host and a port only; the origin omits a default port.
  return host !== undefined && /^[\w.:[\]-]+$/.test(host) && URL.canParse(url) ? new URL(url).origin : null;
}

/** The origins that the operator names as the console's. */
const namedOrigins = ({ consoleOrigins, publicUrl }: OriginConfig): readonly string[] =>
  consoleOrigins.length > 0 || publicUrl === null ? consoleOrigins : [publicUrl];

/** The origins that are ours, for this request. */
function ownOrigins(head: RequestHead, config: OriginConfig): readonly string[] {
  if (config.consoleOrigins.length > 0) return config.consoleOrigins;
  const origin = reachedOrigin(head, config);
  return [...namedOrigins(config), ...(origin === null ? [] : [origin])].filter(isSafe);
}

/** Whether browsers keep a `Secure` cookie there: it is https, or loopback. */
const isSafe = (origin: string): boolean =>
  origin.startsWith('https://') || (URL.canParse(origin) && isLoopbackName(new URL(origin).hostname));

const isLoopbackName = (name: string): boolean =>
  name === 'localhost' ||
  name.endsWith('.localhost') ||
  name === '[::1]' ||
  (isIP(name) === 4 && name.startsWith('127.'));

/** The one value of a header; undefined without it, an empty text if there are several. */
function only(head: RequestHead, name: string): string | undefined {
  const values = head.headers(name);
  return values.length > 1 ? '' : values[0];
}

const isOwn = (origin: string | undefined, head: RequestHead, config: OriginConfig): boolean =>
  origin !== undefined && ownOrigins(head, config).includes(origin);

/** The effect of a request, for the rule on cookies. */
export type Deed = 'reads' | 'changes' | 'upgrades';

/**
 * Whether a cookie counts. A request that changes something must come from a page of ours; so must a socket, whose
 * upgrade has no `Sec-Fetch-Site`.
 */
export function mayUseCookie(head: RequestHead, deed: Deed, config: OriginConfig): boolean {
  if (ownOrigins(head, config).length === 0) return false;
  if (deed === 'upgrades') return isOwn(only(head, 'origin'), head, config);
  return deed === 'reads' || isSameOrigin(head, config);
}

/** Whether the browser's headers name a page of ours as the sender. */
function isSameOrigin(head: RequestHead, config: OriginConfig): boolean {
  const site = only(head, 'sec-fetch-site');
  return site === undefined ? isOwn(only(head, 'origin'), head, config) : site === 'same-origin';
}

/** Whether a browser says that another site's page sent this. A client that is no browser says nothing. */
export function isFromElsewhere(head: RequestHead, config: OriginConfig): boolean {
  if (head.headers('sec-fetch-site').length === 0 && head.headers('origin').length === 0) return false;
  return !isSameOrigin(head, config);
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

const isLoopbackAddress = (address: string): boolean =>
  isIP(address) !== 0 && loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

/**
 * Whether a token may be sent this way: by TLS, or over plain HTTP within this machine. The operator vouches for the
 * origins in `PARLEY_CONSOLE_ORIGIN` and `PARLEY_PUBLIC_URL`, so a proxy that ends TLS without saying so need not be
 * trusted with anything else.
 */
export function maySignIn(head: RequestHead, config: OriginConfig): boolean {
  const { trustedProxies } = config;
  if (cameByTls(head, trustedProxies)) return true;
  const page = only(head, 'origin');
  // A proxy on this machine may pass a request on under a name of loopback: then the page says where the browser is.
  if (isWithinMachine(head, config) && (page === undefined || page === 'null' || isSafe(page))) return true;
  const isSaid = isBehindTrustedProxy(head, trustedProxies) && head.headers('x-forwarded-proto').length > 0;
  return !isSaid && page !== undefined && namedOrigins(config).includes(page) && isSafe(page);
}

/**
 * Returns the origin of ours to which a sign-in at another site leads back; null if a browser would keep no secure
 * cookie there.
 */
export function returnOrigin(head: RequestHead, config: OriginConfig): string | null {
  const named = namedOrigins(config);
  const reached = reachedOrigin(head, config);
  const isReached = reached !== null && (named.length === 0 || named.includes(reached));
  const origin = isReached ? reached : named[0];
  return origin !== undefined && isSafe(origin) ? origin : null;
}

function isWithinMachine(head: RequestHead, config: OriginConfig): boolean {
  const reached = reachedOrigin(head, config);
  return (
    reached !== null &&
    isLoopbackName(new URL(reached).hostname) &&
    isLoopbackAddress(clientAddress(head, config.trustedProxies))
  );
}

/**
 * For a page that came by TLS: browsers are to ask for this host by TLS alone. Names of loopback are left out, since
 * other servers on other ports share them.
 */
export function transportHeaders(head: RequestHead, config: OriginConfig): ResponseHeaders {
  const reached = cameByTls(head, config.trustedProxies) ? reachedOrigin(head, config) : null;
  return reached === null || isLoopbackName(new URL(reached).hostname)
    ? {}
    : { 'strict-transport-security': 'max-age=31536000' };
}

/**
 * Whether a request may come from a page of another site (contract 15): by the origin that it names, or, within this
 * machine, by a name of somebody else's that was made to point here. A client that is no browser names no origin.
 */
export function isForeign(head: RequestHead, config: OriginConfig): boolean {
  const origin = only(head, 'origin');
  if (origin !== undefined && !isOwn(origin, head, config)) return true;
  if (!isLoopbackAddress(clientAddress(head, config.trustedProxies))) return false;
  const reached = reachedOrigin(head, config);
  const named = [...config.consoleOrigins, config.publicUrl].map(hostOf);
  return reached === null || !(isLoopbackName(new URL(reached).hostname) || named.includes(hostOf(reached)));
}

const hostOf = (origin: string | null): string | null => (origin === null ? null : new URL(origin).host);

/** Address of the console, for a link to it. */
export const consoleOrigin = (head: RequestHead, config: AddressConfig): string =>
  config.consoleOrigins[0] ?? publicAddress(head, config);

type AddressConfig = OriginConfig & Pick<Config, 'host' | 'port'>;

/**
 * Address by which this client reaches the server: as the operator says, else as the request does. A proxy may hide
 * from the server the name that clients use.
 */
export const publicAddress = (head: RequestHead, config: AddressConfig): string =>
  config.publicUrl ??
  reachedOrigin(head, config) ??
  `http://${config.host.includes(':') ? `[${config.host}]` : config.host}:${config.port}`;
