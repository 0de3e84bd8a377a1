/** Which addresses a provider may have. A base URL comes from a customer, so it must not reach into our own network. */
import { lookup as systemLookup } from 'node:dns';
import type { LookupAddress, LookupAllOptions } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Resolves a name to all of its addresses, as `dns.lookup` does with `all`. */
export type Lookup = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** The name resolves to an address that may not be called. */
export class AddressRefused extends Error {}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * Whether an address is public unicast; anything that is not an address is not. IPv6 outside 2000::/3 is refused
 * whatever its range is called, because nothing out there is assigned and some of it embeds IPv4 addresses.
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || parsed.match(globalUnicast);
}

/**
 * What is wrong with a base URL, as a sentence, or null. It looks at the text alone and resolves nothing: names are
 * checked again, by address, whenever a connection is made. `allowPrivate` is `PARLEY_ALLOW_PRIVATE_PROVIDERS`.
 */
export function baseUrlProblem(url: string, allowPrivate: boolean): string | null {
  if (!URL.canParse(url)) return 'It is not a URL.';
  const { protocol, username, password, search, hash, hostname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') return 'It must begin with http:// or https://.';
  if (username !== '' || password !== '') return 'It must not hold a user name or a password.';
  if (search !== '' || hash !== '') return 'It must not have a query or a fragment.';
  if (allowPrivate) return null;
  // The URL parser has made dotted decimals of octal, hexadecimal and short forms by now.
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (host === 'localhost' || host.endsWith('.localhost')) return 'It must not name this machine.';
  if (ipaddr.isValid(host) && !isPublicAddress(host)) return 'It must not name a private or reserved address.';
  return null;
}

/**
 * A `lookup` for sockets that fails with AddressRefused when any address of the name is not public. The socket
 * connects to the very addresses that were checked, so a second answer of the name server cannot slip in between.
 */
export function guardedLookup(allowPrivate: boolean, lookup: Lookup = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const first = addresses[0];
      if (first === undefined || !(allowPrivate || addresses.every(({ address }) => isPublicAddress(address)))) {
        return callback(new AddressRefused(), []);
      }
      if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}
