/**
 * Addresses that no setting allows: link-local ones, and those at which clouds give a machine its metadata and
 * credentials. An IPv6 address counts as well if a translator (NAT64, 6to4, Teredo, ISATAP) would turn it into one of
 * them.
 */
import ipaddr from 'ipaddr.js';

type Cidr<T> = [T, number];

/**
 * Single addresses of the metadata services of most clouds, and of Amazon's containers, Tencent, Scaleway, Alibaba,
 * Azure and Oracle.
 */
const metadata4: readonly Cidr<ipaddr.IPv4>[] = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '169.254.0.23',
  '169.254.42.42',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
].map((address) => ipaddr.IPv4.parseCIDR(`${address}/32`));

const forbidden4 = [...metadata4, ipaddr.IPv4.parseCIDR('169.254.0.0/16')];

/** Link-local addresses, and metadata of Amazon, Google, Scaleway and Oracle. */
const forbidden6 = networks(
  'fe80::/10',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:42::42/128',
  'fd00:c1::a9fe:a9fe/128',
);

/**
 * Prefixes under which an address stands for an IPv4 address: compatible, translated, NAT64 (RFC 6052 and 8215), 6to4,
 * Teredo. Mapped addresses are read as IPv4.
 */
const translated6 = networks('::/96', '::ffff:0:0:0/96', '64:ff9b::/96', '64:ff9b:1::/48', '2002::/16', '2001::/32');

/**
 * Offsets of the bytes of an embedded IPv4 address: the last 32 bits, after a prefix of 32 to 64 bits (RFC 6052), 6to4.
 */
const embeddings: readonly (readonly number[])[] = [
  [12, 13, 14, 15],
  [4, 5, 6, 7],
  [5, 6, 7, 9],
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [2, 3, 4, 5],
];

function networks(...cidrs: readonly string[]): Cidr<ipaddr.IPv6>[] {
  return cidrs.map((cidr) => ipaddr.IPv6.parseCIDR(cidr));
}

const isIn = <T extends ipaddr.IPv4 | ipaddr.IPv6>(address: T, list: readonly Cidr<T>[]): boolean =>
  list.some(([network, bits]) => address.match(network, bits));

/** Whether an address is link-local or one of cloud metadata, or leads to one; true for text that is no address. */
export function isMetadataAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return true;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? isIn(parsed as ipaddr.IPv4, forbidden4) : isMetadata6(parsed as ipaddr.IPv6);
}

/**
 * Under an unknown prefix, which may be some network's own NAT64, only single addresses count: a whole range would
 * refuse addresses that look like one by chance.
 */
function isMetadata6(address: ipaddr.IPv6): boolean {
  const bytes = address.toByteArray();
  const isTranslated = isIn(address, translated6) || isIsatap(bytes);
  return (
    isIn(address, forbidden6) ||
    embedded4(bytes).some((embedded) => isIn(embedded, isTranslated ? forbidden4 : metadata4))
  );
}

/** The addresses that a translator may read in the bytes. Teredo inverts the bits of the client's address. */
function embedded4(bytes: readonly number[]): ipaddr.IPv4[] {
  const client = bytes.slice(12).map((byte) => byte ^ 0xff);
  const embedded = embeddings.map((offsets) => offsets.map((offset) => bytes[offset]!));
  return [...embedded, client].map((octets) => new ipaddr.IPv4(octets));
}

/** Whether the interface's identifier embeds an IPv4 address (RFC 5214). */
const isIsatap = (bytes: readonly number[]): boolean =>
  (bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
