/** WAV (RIFF/WAVE): our header before 16-bit mono samples, and the samples of a provider's file. */
import { UnreadableAudio } from './unreadable.ts';
import { bytesOf, clipped, joined } from './samples.ts';

const headerBytes = 44;
/** What stands in both size fields while the size is not known; players then read to the end. */
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
export const exactWav = (samples: Int16Array, rate: number): Uint8Array => joined([wavHeader(rate, samples.byteLength), bytesOf(samples)]);

const formats = { pcm: 1, float: 3, extensible: 0xfffe } as const;

interface Layout {
  readonly sampleRate: number;
  readonly channels: number;
  /** Bytes of one sample of one channel. */
  readonly width: number;
  readonly float: boolean;
}

/** A chunk's name and content; a size that leads beyond the end means the rest, as in a file that was streamed. */
interface Chunk {
  readonly name: string;
  readonly content: Buffer;
}

/**
 * The samples of a WAV file: integers of 8, 16, 24 and 32 bits or floating point, any number of channels, which are mixed to one.
 * Only `fmt ` and `data` count; what other chunks hold would sound as a click. Throws `UnreadableAudio`.
 */
export function readWav(bytes: Uint8Array): { readonly sampleRate: number; readonly samples: Int16Array } {
  let layout: Layout | null = null;
  for (const { name, content } of chunksOf(bytes)) {
    if (name === 'fmt ') layout = layoutOf(content);
    if (name !== 'data') continue;
    if (layout === null) throw new UnreadableAudio('The WAV data stands before its format.');
    return { sampleRate: layout.sampleRate, samples: mixed(content, layout) };
  }
  throw new UnreadableAudio('The WAV has no data.');
}

function* chunksOf(bytes: Uint8Array): Generator<Chunk> {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (file.length < 12 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') throw new UnreadableAudio('The audio is no WAV.');
  for (let at = 12; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    yield { name: file.toString('latin1', at, at + 4), content: file.subarray(at + 8, at + 8 + size) };
    // Chunks begin at even places.
    at += 8 + size + (size % 2);
  }
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
  const known = float ? [4, 8] : encoding === formats.pcm ? [1, 2, 3, 4] : [];
  // Fewer bits than the bytes have stand at the top of them, so they are read alike.
  const fits = Math.ceil(format.readUInt16LE(14) / 8) === width;
  if (channels === 0 || sampleRate === 0 || !known.includes(width) || !fits) throw new UnreadableAudio('The WAV has an encoding that is not supported.');
  return { sampleRate, channels, width, float };
}

/** One sample for each whole frame of all channels: their mean. A last frame that is cut short is left out. */
function mixed(data: Buffer, { channels, width, float }: Layout): Int16Array {
  if (channels === 1 && width === 2) return Int16Array.from({ length: data.length >> 1 }, (_, at) => data.readInt16LE(at * 2));
  const read = readerOf(width, float);
  const samples = new Int16Array(Math.floor(data.length / (channels * width)));
  for (let frame = 0; frame < samples.length; frame++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += read(data, (frame * channels + channel) * width);
    samples[frame] = clipped((sum / channels) * 32768);
  }
  return samples;
}

/** Reads one sample as -1 to 1. Of the integers only those of 8 bits are unsigned. */
function readerOf(width: number, float: boolean): (data: Buffer, at: number) => number {
  if (float) return width === 4 ? (data, at) => finite(data.readFloatLE(at)) : (data, at) => finite(data.readDoubleLE(at));
  if (width === 1) return (data, at) => (data.readUInt8(at) - 128) / 128;
  return (data, at) => data.readIntLE(at, width) / 2 ** (8 * width - 1);
}

/** What is no number is silence: it would spread through every sum that it is part of. */
const finite = (value: number): number => (Number.isNaN(value) ? 0 : value);
