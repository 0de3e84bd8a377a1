/** Where a base URL leads: what a connection needs to know of it, and what a request says of it. */
import { isIP } from 'node:net';
import { baseUrlProblem } from '../address.ts';

export interface Target {
  /** Requests of one origin share connections. */
  readonly origin: string;
  readonly secure: boolean;
  /** A name or an address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** As the header `Host` has it. */
  readonly authority: string;
  /** The name that the certificate must be for; empty for an address, which TLS does not send. */
  readonly serverName: string;
  /** Without a slash at its end. */
  readonly path: string;
}

/** Null for a base URL that may not be called. */
export function targetOf(baseUrl: string, allowPrivate: boolean): Target | null {
  if (baseUrlProblem(baseUrl, allowPrivate) !== null) return null;
  const { origin, protocol, host, hostname, port, pathname } = new URL(baseUrl);
  const secure = protocol === 'https:';
  const bare = hostname.replace(/^\[|\]$/g, '');
  return {
    origin,
    secure,
    hostname: bare,
    port: port === '' ? (secure ? 443 : 80) : Number(port),
    authority: host,
    serverName: isIP(bare) === 0 ? bare.replace(/\.$/, '') : '',
    path: pathname.replace(/\/+$/, ''),
  };
}
