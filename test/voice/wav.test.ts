import t from 'tap';
import { UnreadableAudio } from '../../src/voice/audio/unreadable.ts';
import { exactWav, readWav, wavHeader } from '../../src/voice/audio/wav.ts';
import { chance, voice } from './sounds.ts';

const chunk = (name: string, content: Uint8Array, size = content.length): Buffer => {
  const header = Buffer.alloc(8);
  header.write(name, 'latin1');
  header.writeUInt32LE(size, 4);
  return Buffer.concat([header, content, Buffer.alloc(content.length % 2)]);
};

interface Format {
  tag?: number;
  channels?: number;
  rate?: number;
  bits?: number;
  /** What the format's chunk has after its first 16 bytes. */
  more?: Uint8Array;
}

function format({ tag = 1, channels = 1, rate = 16_000, bits = 16, more = new Uint8Array(0) }: Format = {}): Buffer {
  const content = Buffer.alloc(16);
  content.writeUInt16LE(tag, 0);
  content.writeUInt16LE(channels, 2);
  content.writeUInt32LE(rate, 4);
  content.writeUInt32LE((rate * channels * bits) / 8, 8);
  content.writeUInt16LE((channels * bits) / 8, 12);
  content.writeUInt16LE(bits, 14);
  return chunk('fmt ', Buffer.concat([content, more]));
}

const file = (...chunks: Uint8Array[]): Buffer => {
  const body = Buffer.concat([Buffer.from('WAVE'), ...chunks]);
  return Buffer.concat([chunk('RIFF', body).subarray(0, 8), body]);
};

const sixteen = (...values: number[]): Buffer => Buffer.from(Int16Array.from(values).buffer);
const samplesIn = (wav: Uint8Array): number[] => [...readWav(wav).samples];

t.test('a header', async (t) => {
  t.same([...wavHeader(24_000, 1000)], [...file(format({ rate: 24_000 }), chunk('data', new Uint8Array(1000))).subarray(0, 44)], 'exact sizes');
  const streamed = Buffer.from(wavHeader(16_000, null));
  t.same([streamed.readUInt32LE(4), streamed.readUInt32LE(40)], [0xffffffff, 0xffffffff], 'sizes that are not known yet');
  t.same(Buffer.concat([streamed.subarray(8, 40)]), Buffer.concat([wavHeader(16_000, 2).subarray(8, 40)]), 'are the only difference');
});

t.test('what is written is read', async (t) => {
  const samples = voice(16_000, 0.2);
  t.strictSame(readWav(exactWav(samples, 16_000)), { sampleRate: 16_000, samples });
  t.strictSame(readWav(Buffer.concat([wavHeader(16_000, null), exactWav(samples, 16_000).subarray(44)])), { sampleRate: 16_000, samples }, 'streamed');
  t.same(samplesIn(exactWav(new Int16Array(0), 16_000)), [], 'without a sample');
  const odd = new Uint8Array(exactWav(samples, 16_000).length + 1);
  odd.set(exactWav(samples, 16_000), 1);
  t.strictSame(readWav(odd.subarray(1)).samples, samples, 'at an odd address');
});

t.test('only the data counts', async (t) => {
  const list = chunk('LIST', Buffer.from('INFOISFT\x05\0\0\0Lavf\0', 'latin1'));
  const c2pa = chunk('C2PA', new Uint8Array(401).fill(77));
  const data = sixteen(1, -2, 3);
  t.same(samplesIn(file(list, c2pa, format(), list, chunk('data', data), list, c2pa)), [1, -2, 3], 'chunks before and after it are left out');
  for (const size of [0xffffffff, 0x7fffffff, 1000]) t.same(samplesIn(file(format(), chunk('data', data, size))), [1, -2, 3], `a size of ${size} means the rest`);
  t.same(samplesIn(file(format(), chunk('data', sixteen(1, 2, 3).subarray(0, 5)))), [1, 2], 'half a sample at the end is left out');
  t.equal(readWav(file(format({ rate: 44_100 }), chunk('data', data))).sampleRate, 44_100, 'the rate');
});

t.test('integers and floating point of every width, mixed to one channel', async (t) => {
  const data = (bytes: Buffer, layout: Format): number[] => samplesIn(file(format(layout), chunk('data', bytes)));
  t.same(data(Buffer.from([0, 128, 255]), { bits: 8 }), [-32_768, 0, 32_512], '8 bits are unsigned');
  t.same(data(Buffer.from([0, 0, 0x80, 0, 1, 0, 0xff, 0xff, 0x7f]), { bits: 24 }), [-32_768, 1, 32_767], '24 bits');
  t.same(data(Buffer.from(Int32Array.of(-(2 ** 31), 3 * 65_536, 2 ** 31 - 1).buffer), { bits: 32 }), [-32_768, 3, 32_767], '32 bits');
  t.same(data(Buffer.from(Float32Array.of(-1, 0.5, 1, 7, Number.NaN).buffer), { tag: 3, bits: 32 }), [-32_768, 16_384, 32_767, 32_767, 0], 'floating point, clipped');
  t.same(data(Buffer.from(Float64Array.of(-0.25).buffer), { tag: 3, bits: 64 }), [-8192], 'of 64 bits');
  t.same(data(sixteen(100, 300, -5, -5, 32_767, 32_767), { channels: 2 }), [200, -5, 32_767], 'two channels');
  const guid = Buffer.from('0100000000001000800000aa00389b71', 'hex');
  const extensible = { tag: 0xfffe, channels: 2, more: Buffer.concat([Buffer.from([22, 0, 16, 0, 3, 0, 0, 0]), guid]) };
  t.same(data(sixteen(10, 20), extensible), [15], 'the extensible form');
});

t.test('what is no WAV, or one of another encoding, is refused', async (t) => {
  const data = chunk('data', sixteen(1));
  const broken: Record<string, Uint8Array> = {
    nothing: new Uint8Array(0),
    'an error in JSON': Buffer.from('{"error":"no such voice"}'),
    'MP3 frames': new Uint8Array(500).fill(0xff),
    'no data': file(format()),
    'no format': file(data),
    'a format cut short': Buffer.concat([file(chunk('fmt ', new Uint8Array(8))), data]),
    'ADPCM': file(format({ tag: 2, bits: 4 }), data),
    'µ-law': file(format({ tag: 7, bits: 8 }), data),
    'no channels': file(format({ channels: 0 }), data),
    'a rate of zero': file(format({ rate: 0 }), data),
    '12 bits': file(format({ bits: 12 }), data),
  };
  for (const [name, bytes] of Object.entries(broken)) t.throws(() => readWav(bytes), UnreadableAudio, name);
  const next = chance(3);
  const whole = file(format(), data);
  for (let round = 0; round < 2000; round++) {
    const damaged = Uint8Array.from(whole, (byte) => (next() < 0.05 ? Math.floor(next() * 256) : byte)).subarray(0, Math.ceil(next() * whole.length));
    try {
      readWav(damaged);
    } catch (error) {
      if (!(error instanceof UnreadableAudio)) t.fail(`damaged: ${String(error)}`);
    }
  }
});
