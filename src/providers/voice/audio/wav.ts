/** WAV (RIFF/WAVE): our header before 16-bit mono samples, and the samples of a provider's file. */
import { UnreadableAudio } from './unreadable.ts';
import { bytesOf, clipped, joined, noSamples, samplesOf } from './samples.ts';

/** Hertz of the lowest sample rate. */
const wavRateMin = 8_000;
/** Hertz of the highest sample rate. */
const wavRateMax = 192_000;
/** Channels of a file. */
const wavChannelsMax = 32;
/** Bytes before the samples. */
const wavHeaderBytesMax = 1024 * 1024;

const headerBytes = 44;
/** The value of both size fields while the size is not known; players then read to the end. */
const unknownSize = 0xffffffff;

/** The 44 bytes before `dataBytes` of mono s16le at `rate` hertz; `null` when the length is not known yet. */
export function wavHeader(rate: number, dataBytes: number | null): Uint8Array {
  const header = Buffer.alloc(headerBytes);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(dataBytes === null ? unknownSize : headerBytes - 8 + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(formats.pcm, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(rate, 24);
  header.writeUInt32LE(rate * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes ?? unknownSize, 40);
  return header;
}

/** A whole file with exact sizes. */
export const exactWav = (samples: Int16Array, rate: number): Uint8Array =>
  joined([wavHeader(rate, samples.byteLength), bytesOf(samples)]);

const formats = { pcm: 1, float: 3, extensible: 0xfffe } as const;

interface Layout {
  readonly sampleRate: number;
  readonly channels: number;
  /** Bytes of one sample of one channel. */
  readonly width: number;
  readonly float: boolean;
}

/** Bytes of one sample of all channels. */
const widthOf = ({ channels, width }: Layout): number => channels * width;

/** Bytes read of a format chunk: the longest form, the extensible one, has 40. */
const formatBytesMax = 40;
const none = Buffer.alloc(0);

/**
 * Reads a WAV file as it comes: integers of 8, 16, 24 and 32 bits or floating point, whose channels are mixed to one.
 * Only `fmt ` and `data` count; what other chunks hold would sound as a click. A size of the data that leads beyond the
 * end means the rest, as in a file that was streamed; so does, in a whole file, a size of 0 after which the file
 * declares nothing.
 */
export class WavReader {
  /** Bytes that wait for the rest of their header or frame. */
  #buffered: Buffer = none;
  #layout: Layout | null = null;
  #begun = false;
  /** Bytes of the file after the first eight, as its header declares them. */
  #declared = 0;
  readonly #isWhole: boolean;

  /** `isWhole`: the bytes are all of a file, whose sizes may never have been written. */
  constructor(isWhole = false) {
    this.#isWhole = isWhole;
  }
  /** Bytes before the data, and how many of the next ones are of a chunk that does not count. */
  #headerBytes = 0;
  #skipped = 0;
  /** Bytes of the data that are to come; null before it. */
  #left: number | null = null;

  /** Null until the format is known. */
  get sampleRate(): number | null {
    return this.#layout?.sampleRate ?? null;
  }

  /** Whether all of the data has come. */
  get complete(): boolean {
    return this.#left !== null && this.#left < widthOf(this.#layout!);
  }

  /** The samples that these bytes complete, perhaps none. Throws `UnreadableAudio`. The caller may reuse the array. */
  push(bytes: Uint8Array): Int16Array {
    const coming = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const all = this.#buffered.length === 0 ? coming : Buffer.concat([this.#buffered, coming]);
    const at = this.#left === null ? this.#header(all) : 0;
    if (this.#left !== null) return this.#data(all.subarray(at), this.#layout!);
    this.#buffered = Buffer.from(all.subarray(at));
    return noSamples;
  }

  /** No more comes. Throws `UnreadableAudio` if there was no data. */
  end(): void {
    if (this.#left === null) throw new UnreadableAudio('The WAV has no data.');
  }

  /** Reads the chunks before the data, and returns the position behind them. */
  #header(bytes: Buffer): number {
    let at = 0;
    if (!this.#begun) {
      if (bytes.length < 12) return at;
      if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE')
        throw new UnreadableAudio('The audio is no WAV.');
      this.#begun = true;
      this.#declared = bytes.readUInt32LE(4);
      at = 12;
    }
    while (this.#left === null) {
      const passed = Math.min(this.#skipped, bytes.length - at);
      this.#skipped -= passed;
      at += passed;
      if (bytes.length < at + 8) return at;
      const size = bytes.readUInt32LE(at + 4);
      const name = bytes.toString('latin1', at, at + 4);
      if (name === 'data') this.#beginData(size);
      else {
        const content = Math.min(size, formatBytesMax);
        if (name === 'fmt ' && bytes.length < at + 8 + content) return at;
        if (name === 'fmt ') this.#layout = layoutOf(bytes.subarray(at + 8, at + 8 + content));
        // Chunks begin at even places.
        this.#skipped = size + (size % 2);
        this.#headerBytes += 8 + this.#skipped;
        if (this.#headerBytes > wavHeaderBytesMax) throw new UnreadableAudio('The WAV has too much before its data.');
      }
      at += 8;
    }
    return at;
  }

  #beginData(size: number): void {
    if (this.#layout === null) throw new UnreadableAudio('The WAV data stands before its format.');
    this.#left = size === unknownSize || (this.#isWhole && size === 0 && !this.#declaresMore()) ? Infinity : size;
  }

  /**
   * Whether the header declares chunks after the data: data of size 0 is then empty. Else its size was never written,
   * as where a recorder writes to a pipe.
   */
  #declaresMore(): boolean {
    return this.#declared !== unknownSize && 8 + this.#declared > 20 + this.#headerBytes;
  }

  /** Bytes behind the data are left out. */
  #data(bytes: Buffer, layout: Layout): Int16Array {
    const data = bytes.subarray(0, Math.min(bytes.length, this.#left!));
    const whole = data.length - (data.length % widthOf(layout));
    this.#left! -= whole;
    this.#buffered = Buffer.from(data.subarray(whole));
    return mixed(data.subarray(0, whole), layout);
  }
}

/** The samples of a whole file. Throws `UnreadableAudio`. */
export function readWav(bytes: Uint8Array): { readonly sampleRate: number; readonly samples: Int16Array } {
  const reader = new WavReader(true);
  const samples = reader.push(bytes);
  reader.end();
  return { sampleRate: reader.sampleRate!, samples };
}

function layoutOf(format: Buffer): Layout {
  if (format.length < 16) throw new UnreadableAudio('The WAV format is cut short.');
  const tag = format.readUInt16LE(0);
  // The extensible form names the encoding in the first two bytes of a GUID.
  const encoding = tag === formats.extensible && format.length >= 26 ? format.readUInt16LE(24) : tag;
  const channels = format.readUInt16LE(2);
  const sampleRate = format.readUInt32LE(4);
  const width = format.readUInt16LE(12) / channels;
  const float = encoding === formats.float;
  const sampleBytes = float ? [4, 8] : encoding === formats.pcm ? [1, 2, 3, 4] : [];
  // Fewer bits than the bytes have stand at the top of them, so they are read alike.
  const fits = Math.ceil(format.readUInt16LE(14) / 8) === width;
  const inRange = sampleRate >= wavRateMin && sampleRate <= wavRateMax && channels >= 1 && channels <= wavChannelsMax;
  if (!inRange || !sampleBytes.includes(width) || !fits)
    throw new UnreadableAudio('The WAV has an encoding that is not supported.');
  return { sampleRate, channels, width, float };
}

/** One sample for each frame of all channels: their mean. */
function mixed(data: Buffer, { channels, width, float }: Layout): Int16Array {
  if (channels === 1 && width === 2) return samplesOf(data);
  const read = readerOf(width, float);
  const samples = new Int16Array(data.length / (channels * width));
  for (let frame = 0; frame < samples.length; frame++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += read(data, (frame * channels + channel) * width);
    samples[frame] = clipped((sum / channels) * 32768);
  }
  return samples;
}

/** Returns a function that reads one sample as -1 to 1. Only integers of 8 bits are unsigned. */
function readerOf(width: number, float: boolean): (data: Buffer, at: number) => number {
  if (float)
    return width === 4 ? (data, at) => finite(data.readFloatLE(at)) : (data, at) => finite(data.readDoubleLE(at));
  if (width === 1) return (data, at) => (data.readUInt8(at) - 128) / 128;
  return (data, at) => data.readIntLE(at, width) / 2 ** (8 * width - 1);
}

/** Replaces NaN by silence: it would spread through every sum that it is part of. */
const finite = (value: number): number => (Number.isNaN(value) ? 0 : value);
