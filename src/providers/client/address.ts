/** The addresses that a provider may have. A customer sets the base URL, so it must not reach our own network. */
import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { isMetadataAddress } from './metadata-addresses.ts';

/** Resolves a name to all its addresses, as `dns.lookup` does with `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The error for a name that resolves to an address that must not be called. */
export class AddressRefused extends Error {}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is public unicast; false for text that is no address. IPv6 outside 2000::/3 is refused, under any
 * name of its range: nothing there is assigned, and some of it embeds IPv4 addresses.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast);
}

const privateRanges: readonly string[] = ['loopback', 'unspecified', 'private', 'uniqueLocal', 'carrierGradeNat'];

/**
 * Whether an address belongs to this machine or a private network. Some addresses are neither that nor public: reserved
 * ones, and those that embed another address.
 */
export const isPrivateAddress = (address: string): boolean =>
  ipaddr.isValid(address) && privateRanges.includes(ipaddr.process(address).range());

/**
 * Returns a check of addresses. Without encryption (`secure` false) the provider's key must not leave the private
 * network. Link-local and cloud metadata addresses are always refused: they would give a caller this machine's
 * own credentials.
 */
export function addressCheck(secure: boolean, allowPrivate: boolean): (address: string) => boolean {
  if (!secure && !allowPrivate) return () => false;
  const isAllowed = !secure ? isPrivateAddress : allowPrivate ? () => true : isPublicAddress;
  return (address) => isAllowed(address) && !isMetadataAddress(address);
}

/**
 * Returns the row of the error table for a base URL that may not be called, or null. Checks the text only and resolves
 * nothing: names are checked again, by address, for each connection. `allowPrivate` is
 * `PARLEY_ALLOW_PRIVATE_PROVIDERS`.
 */
export function baseUrlProblem(url: string, allowPrivate: boolean): 'invalid_field' | 'unencrypted_url' | null {
  if (!URL.canParse(url)) return 'invalid_field';
  const { protocol, username, password, search, hash, hostname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return 'invalid_field';
  if (username !== '' || password !== '' || search !== '' || hash !== '') return 'invalid_field';
  // The URL parser has already turned octal, hexadecimal and short forms into dotted decimals.
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const isAddress = ipaddr.isValid(host);
  const isHere = host === 'localhost' || host.endsWith('.localhost');
  const secure = protocol === 'https:';
  if (!secure && !allowPrivate) return 'unencrypted_url';
  // A name is allowed until it is resolved, but for one that always leads to this machine.
  if (!isAddress) return isHere && !allowPrivate ? 'invalid_field' : null;
  if (addressCheck(secure, allowPrivate)(host)) return null;
  return secure || isMetadataAddress(host) ? 'invalid_field' : 'unencrypted_url';
}

/**
 * A `lookup` for sockets that fails with AddressRefused if any address of the name must not be called. The socket
 * connects to the very addresses that were checked, so a second, different answer of the name server has no effect.
 */
export function guardedLookup(
  mayCallAddress: (address: string) => boolean,
  lookup: Lookup = systemLookup,
): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const first = addresses[0];
      if (first === undefined || !addresses.every(({ address }) => mayCallAddress(address)))
        return callback(new AddressRefused(), []);
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
