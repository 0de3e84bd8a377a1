import t from 'tap';
import { OggOpus } from '../../../src/providers/voice/audio/ogg.ts';

interface Page {
  flags: number;
  granule: number;
  sequence: number;
  /** The sum that the page carries, and the one computed here, bit by bit. */
  sums: [number, number];
  packets: Buffer[];
}

/** Pages read back as RFC 3533 describes them, part 6. */
function pagesOf(file: Uint8Array): Page[] {
  const bytes = Buffer.from(file);
  const pages: Page[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.toString('latin1', at, at + 5) !== 'OggS\0') throw new Error(`no page at ${at}`);
    const lacing = [...bytes.subarray(at + 27, at + 27 + bytes[at + 26]!)];
    const begin = at + 27 + lacing.length;
    const end = begin + lacing.reduce((sum, length) => sum + length, 0);
    pages.push({
      flags: bytes[at + 5]!,
      granule: Number(bytes.readBigInt64LE(at + 6)),
      sequence: bytes.readUInt32LE(at + 18),
      sums: [
        bytes.readUInt32LE(at + 22),
        sumOf(Buffer.concat([bytes.subarray(at, at + 22), Buffer.alloc(4), bytes.subarray(at + 26, end)])),
      ],
      packets: packetsOf(bytes.subarray(begin, end), lacing),
    });
    at = end;
  }
  return pages;
}

function packetsOf(body: Buffer, lacing: readonly number[]): Buffer[] {
  const packets: Buffer[] = [];
  let from = 0;
  let to = 0;
  for (const length of lacing) {
    to += length;
    if (length === 255) continue;
    packets.push(body.subarray(from, to));
    from = to;
  }
  if (from !== to) throw new Error('a packet does not end on its page');
  return packets;
}

function sumOf(bytes: Buffer): number {
  let rest = 0n;
  for (const byte of bytes) {
    rest ^= BigInt(byte) << 24n;
    for (let bit = 0; bit < 8; bit++)
      rest = rest & 0x80000000n ? ((rest << 1n) ^ 0x104c11db7n) & 0xffffffffn : rest << 1n;
  }
  return Number(rest);
}

const packet = (length: number, fill: number): Uint8Array => new Uint8Array(length).fill(fill);

t.test('the pages before the audio', async (t) => {
  const [head, tags, ...others] = pagesOf(new OggOpus(312, 16_000).head());
  t.same(others, []);
  t.same([head!.flags, head!.granule, head!.sequence], [2, 0, 0], 'the first page says that it is');
  t.equal(
    head!.packets[0]!.toString('hex'),
    `${Buffer.from('OpusHead').toString('hex')}01013801803e0000000000`,
    'version 1, one channel, pre-skip 312, 16,000 Hz, no gain, family 0',
  );
  t.same([tags!.flags, tags!.granule, tags!.sequence], [0, 0, 1]);
  t.same(tags!.packets.map(String), ['OpusTags\x06\0\0\0parley\0\0\0\0']);
});

t.test('packets of all sizes', async (t) => {
  const ogg = new OggOpus(312, 16_000);
  ogg.head();
  const packets = [1, 254, 255, 256, 510, 1275].map((length, index) => packet(length, index + 1));
  const [page, ...others] = pagesOf(ogg.pages(packets, [960, 1920, 2880, 3840, 4800, 5760]));
  t.same(others, [], 'share a page');
  t.same(
    [page!.flags, page!.granule, page!.sequence],
    [0, 5760, 2],
    'which is numbered, and stands where its last packet ends',
  );
  t.same(
    page!.packets.map((bytes) => [...bytes]),
    packets.map((bytes) => [...bytes]),
  );
  t.equal(page!.sums[0], page!.sums[1], 'its sum is right');
  t.equal(ogg.pages([], []).length, 0, 'no packets, no page');
});

t.test('more than a page holds', async (t) => {
  const packets = Array.from({ length: 300 }, (_, index) => packet(index % 2 ? 300 : 80, index % 256));
  const pages = pagesOf(
    new OggOpus(312, 48_000).pages(
      packets,
      packets.map((_, index) => 960 * (index + 1)),
      true,
    ),
  );
  t.same(
    pages.flatMap((page) => page.packets.map((bytes) => [...bytes])),
    packets.map((bytes) => [...bytes]),
    'all of it, in order',
  );
  t.same(
    pages.map((page) => page.sequence),
    pages.map((_, index) => index),
    'numbered',
  );
  t.same(
    pages.map((page) => page.flags),
    [...pages.slice(1).map(() => 0), 4],
    'only the last page is the last',
  );
  let count = 0;
  for (const page of pages)
    t.equal(page.granule, 960 * (count += page.packets.length), 'each stands where its last packet ends');
  t.ok(
    pages.every((page) => page.sums[0] === page.sums[1]),
    'the sums are right',
  );
});
