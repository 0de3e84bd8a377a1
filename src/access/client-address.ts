/** The client's address behind the proxies: the nearest address of `X-Forwarded-For` that is not a trusted proxy's. */
import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { RequestHead } from '../base/edge.ts';

const lists = new WeakMap<readonly string[], BlockList>();

export function clientAddress(head: RequestHead, trustedProxies: readonly string[]): string {
  if (trustedProxies.length === 0) return head.remoteAddress;
  const trusted = trustedList(trustedProxies);
  const hops = head
    .headers('x-forwarded-for')
    .flatMap((line) => line.split(','))
    .map((hop) => hop.trim());
  let address = head.remoteAddress;
  while (isTrusted(trusted, address) && hops.length > 0) {
    const hop = hopAddress(hops.pop()!);
    if (hop === null) break;
    address = hop;
  }
  return address;
}

/** Brackets around either kind of address, with a port or without. An IPv6 address without brackets has no port. */
const bracketed = /^\[([^\]]+)\](?::\d{1,5})?$/;
const withPort = /^([\d.]+):\d{1,5}$/;

/**
 * The address that a proxy has noted, spelt like a peer's: without brackets, port and zone, and IPv4 taken out of IPv6.
 * Null for text that is not an address.
 */
function hopAddress(hop: string): string | null {
  const address = bracketed.exec(hop)?.[1] ?? withPort.exec(hop)?.[1] ?? hop;
  const family = isIP(address);
  if (family !== 6) return family === 4 ? address : null;
  const parsed = ipaddr.IPv6.parse(address.split('%', 1)[0]!);
  return parsed.isIPv4MappedAddress() ? parsed.toIPv4Address().toString() : parsed.toRFC5952String();
}

/** Whether the peer is a trusted proxy, whose headers about the client are believed. */
export const isBehindTrustedProxy = ({ remoteAddress }: RequestHead, trustedProxies: readonly string[]): boolean =>
  trustedProxies.length > 0 && isTrusted(trustedList(trustedProxies), remoteAddress);

/** Whether the client came by TLS, which only a trusted proxy can report. */
export const cameByTls = (head: RequestHead, trustedProxies: readonly string[]): boolean =>
  isBehindTrustedProxy(head, trustedProxies) &&
  head.headers('x-forwarded-proto')[0]?.split(',')[0]!.trim().toLowerCase() === 'https';

/**
 * Settings of servers that visitors seem to reach through a proxy which nobody has named: any visitor can send its
 * header.
 */
const behindUnnamed = new WeakSet<object>();

/**
 * Whether a peer that is no trusted proxy says that it passes the request on: behind a proxy all clients have one
 * address.
 */
const passedOnByUnnamed = (head: RequestHead, trustedProxies: readonly string[]): boolean =>
  head.headers('x-forwarded-for').length > 0 && !isBehindTrustedProxy(head, trustedProxies);

/** Notes how a visitor came; true for the first who came through a proxy that nobody has named. */
export function noteUnnamedProxy(head: RequestHead, config: { readonly trustedProxies: readonly string[] }): boolean {
  if (behindUnnamed.has(config) || !passedOnByUnnamed(head, config.trustedProxies)) return false;
  behindUnnamed.add(config);
  return true;
}

/**
 * Whether visitors may share one address: one of them, or who asks now, came as through a proxy that nobody has named.
 */
export const mayShareAddress = (head: RequestHead, config: { readonly trustedProxies: readonly string[] }): boolean =>
  behindUnnamed.has(config) || passedOnByUnnamed(head, config.trustedProxies);

const isTrusted = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

function trustedList(ranges: readonly string[]): BlockList {
  let list = lists.get(ranges);
  if (list === undefined) {
    list = new BlockList();
    for (const range of ranges) {
      const [address = '', prefix] = range.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      if (prefix === undefined) list.addAddress(address, family);
      else list.addSubnet(address, Number(prefix), family);
    }
    lists.set(ranges, list);
  }
  return list;
}
