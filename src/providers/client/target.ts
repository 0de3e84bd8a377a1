/** The target of a base URL: the address for a connection, and the fields of the request's head. */
import { isIP } from 'node:net';
import { baseUrlProblem } from './address.ts';

export interface Target {
  /** Requests of one origin share connections. */
  readonly origin: string;
  readonly secure: boolean;
  /** A name or an address, without brackets. */
  readonly hostname: string;
  readonly port: number;
  /** The value of the header `Host`. */
  readonly authority: string;
  /** The name that the certificate must have; empty for an address, because TLS sends no name for it. */
  readonly serverName: string;
  /** The base URL's path, without a slash at its end. */
  readonly path: string;
}

/** The target; null for a base URL that must not be called. */
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
    path: pathname.replace(/(?<!\/)\/+$/, ''),
  };
}
