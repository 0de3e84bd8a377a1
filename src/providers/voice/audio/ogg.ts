/** Ogg pages (RFC 3533) around Opus packets (RFC 7845): one mono stream, whose end is exact to the sample. */
import { joined } from './samples.ts';

/** Flags of a page. */
const firstPage = 2;
const lastPage = 4;

/** A page has at most 255 segments of at most 255 bytes; a packet ends with the first segment that is shorter. */
const segmentBytes = 255;
const segmentsMax = 255;

/** Serial number of the stream, which each page carries; a file of ours has one stream. */
const serial = 0x7061726c;

export class OggOpus {
  readonly #preSkip: number;
  readonly #inputRate: number;
  #sequence = 0;

  /**
   * `preSkip` is the encoder's lookahead in samples of 48 kHz, which players leave out; `inputRate`, in hertz, is for
   * information.
   */
  constructor(preSkip: number, inputRate: number) {
    this.#preSkip = preSkip;
    this.#inputRate = inputRate;
  }

  /** The two pages before the audio. */
  head(): Uint8Array {
    const head = Buffer.alloc(19);
    head.write('OpusHead', 0, 'latin1');
    head.writeUInt8(1, 8);
    head.writeUInt8(1, 9);
    head.writeUInt16LE(this.#preSkip, 10);
    head.writeUInt32LE(this.#inputRate, 12);
    const vendor = 'parley';
    const tags = Buffer.alloc(8 + 4 + vendor.length + 4);
    tags.write('OpusTags', 0, 'latin1');
    tags.writeUInt32LE(vendor.length, 8);
    tags.write(vendor, 12, 'latin1');
    return joined([this.#page([head], 0, firstPage), this.#page([tags], 0, 0)]);
  }

  /**
   * Pages with these packets, at least one. `ends` holds, for each packet, the stream's samples of 48 kHz up to its
   * end, the pre-skip included.
   */
  pages(packets: readonly Uint8Array[], ends: readonly number[], last = false): Uint8Array {
    const pages: Uint8Array[] = [];
    for (let from = 0; from < packets.length;) {
      let segments = 0;
      let to = from;
      while (to < packets.length && segments + segmentsOf(packets[to]!) <= segmentsMax)
        segments += segmentsOf(packets[to++]!);
      pages.push(this.#page(packets.slice(from, to), ends[to - 1]!, last && to === packets.length ? lastPage : 0));
      from = to;
    }
    return joined(pages);
  }

  #page(packets: readonly Uint8Array[], granule: number, flags: number): Uint8Array {
    const lacing = packets.flatMap((packet) => [
      ...Array<number>(segmentsOf(packet) - 1).fill(segmentBytes),
      packet.length % segmentBytes,
    ]);
    const header = Buffer.alloc(27 + lacing.length);
    header.write('OggS', 0, 'latin1');
    header.writeUInt8(flags, 5);
    header.writeBigInt64LE(BigInt(granule), 6);
    header.writeUInt32LE(serial, 14);
    header.writeUInt32LE(this.#sequence++, 18);
    header.writeUInt8(lacing.length, 26);
    header.set(lacing, 27);
    const page = joined([header, ...packets]);
    // The checksum covers the page with zero in the checksum's field.
    new DataView(page.buffer, page.byteOffset).setUint32(22, checksum(page), true);
    return page;
  }
}

const segmentsOf = (packet: Uint8Array): number => Math.floor(packet.length / segmentBytes) + 1;

/** CRC-32 with the polynomial 0x04c11db7, highest bit first, from zero: not the one of zip. */
const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte << 24;
  for (let bit = 0; bit < 8; bit++) rest = rest & 0x80000000 ? (rest << 1) ^ 0x04c11db7 : rest << 1;
  return rest >>> 0;
});

function checksum(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) ^ crcTable[(crc >>> 24) ^ byte]!) >>> 0;
  return crc;
}
