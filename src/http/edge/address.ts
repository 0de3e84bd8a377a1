/** A peer's address as text, the same from both engines. */
import ipaddr from 'ipaddr.js';

const mappedPrefix = /^::ffff:(?=[0-9.]+$)/i;

/** An address as `node:net` spells it, with an IPv4 address inside an IPv6 one taken out. */
export const plainAddress = (text: string | undefined): string => (text ?? '').replace(mappedPrefix, '');

/** Returns an address from its 4 or 16 bytes; empty without bytes. IPv6 is spelt as RFC 5952 requires. */
export function addressOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) return '';
  const address = new ipaddr.IPv6([...bytes]);
  return address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String();
}
