import t from 'tap';
import { UnreadableAudio } from '../../../src/providers/voice/audio/unreadable.ts';
import { exactWav, readWav, wavHeader, WavReader } from '../../../src/providers/voice/audio/wav.ts';
import { all, chance, isSame, pieces, voice } from './sounds.ts';

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
  /** The bytes of the format's chunk after the first 16. */
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

/** A format whose numbers need not agree. */
function raw({
  channels = 1,
  rate = 16_000,
  align = 2,
  bits = 16,
}: {
  channels?: number;
  rate?: number;
  align?: number;
  bits?: number;
}): Buffer {
  const chunked = format();
  for (const [value, at, bytes] of [
    [channels, 10, 2],
    [rate, 12, 4],
    [align, 20, 2],
    [bits, 22, 2],
  ] as const)
    chunked.writeUIntLE(value, at, bytes);
  return chunked;
}

const file = (...chunks: Uint8Array[]): Buffer => {
  const body = Buffer.concat([Buffer.from('WAVE'), ...chunks]);
  return Buffer.concat([chunk('RIFF', body).subarray(0, 8), body]);
};

const sixteen = (...values: number[]): Buffer => Buffer.from(Int16Array.from(values).buffer);
const samplesIn = (wav: Uint8Array): number[] => [...readWav(wav).samples];

t.test('a header of a WAV file is read', async (t) => {
  t.same(
    [...wavHeader(24_000, 1000)],
    [...file(format({ rate: 24_000 }), chunk('data', new Uint8Array(1000))).subarray(0, 44)],
    'exact sizes',
  );
  const streamed = Buffer.from(wavHeader(16_000, null));
  t.same(
    [streamed.readUInt32LE(4), streamed.readUInt32LE(40)],
    [0xffffffff, 0xffffffff],
    'sizes that are not known yet',
  );
  t.same(
    Buffer.concat([streamed.subarray(8, 40)]),
    Buffer.concat([wavHeader(16_000, 2).subarray(8, 40)]),
    'are the only difference',
  );
});

t.test('a written file is read again', async (t) => {
  const samples = voice(16_000, 0.2);
  for (const [how, wav] of [
    ['whole', exactWav(samples, 16_000)],
    ['streamed', Buffer.concat([wavHeader(16_000, null), exactWav(samples, 16_000).subarray(44)])],
  ] as const) {
    const read = readWav(wav);
    t.ok(read.sampleRate === 16_000 && isSame(read.samples, samples), how);
  }
  t.same(samplesIn(exactWav(new Int16Array(0), 16_000)), [], 'without a sample');
  const odd = new Uint8Array(exactWav(samples, 16_000).length + 1);
  odd.set(exactWav(samples, 16_000), 1);
  t.ok(isSame(readWav(odd.subarray(1)).samples, samples), 'at an odd address');
});

t.test('only the data counts', async (t) => {
  const list = chunk('LIST', Buffer.from('INFOISFT\x05\0\0\0Lavf\0', 'latin1'));
  const c2pa = chunk('C2PA', new Uint8Array(401).fill(77));
  const data = sixteen(1, -2, 3);
  t.same(
    samplesIn(file(list, c2pa, format(), list, chunk('data', data), list, c2pa)),
    [1, -2, 3],
    'chunks before and after it are left out',
  );
  for (const size of [0xffffffff, 0x7fffffff, 1000])
    t.same(samplesIn(file(format(), chunk('data', data, size))), [1, -2, 3], `a size of ${size} means the rest`);
  t.same(
    samplesIn(file(format(), chunk('data', sixteen(1, 2, 3).subarray(0, 5)))),
    [1, 2],
    'half a sample at the end is left out',
  );
  t.equal(readWav(file(format({ rate: 44_100 }), chunk('data', data))).sampleRate, 44_100, 'the rate');
});

t.test('a file that comes in pieces', async (t) => {
  const list = chunk('LIST', new Uint8Array(301));
  for (const layout of [
    {},
    { bits: 24, channels: 2 },
    { tag: 3, bits: 64, channels: 3 },
    { bits: 8, channels: 32, rate: 192_000 },
  ]) {
    const data = Uint8Array.from({ length: 4800 }, (_, at) => (at * 7) % 251);
    const whole = file(list, format(layout), list, chunk('data', data), list);
    for (const most of [1, 3, 17, 500]) {
      const reader = new WavReader();
      const samples = all(pieces(new Uint8Array(whole), most, most).map((piece) => reader.push(piece)));
      t.ok(isSame(samples, readWav(whole).samples), `${JSON.stringify(layout)}, up to ${most} bytes`);
      t.ok(reader.complete);
    }
  }
  const endless = new WavReader();
  endless.push(file(format(), chunk('data', sixteen(1), 0xffffffff)));
  t.notOk(endless.complete, 'of an unknown size');
});

t.test('chunks before the data are bounded', async (t) => {
  const reader = new WavReader();
  reader.push(file(format()));
  t.throws(
    () => {
      for (;;) reader.push(chunk('LIST', new Uint8Array(1000)));
    },
    UnreadableAudio,
    'chunks without end',
  );
  const empty = new WavReader();
  empty.push(file(format()));
  t.throws(
    () => {
      for (;;) empty.push(chunk('junk', new Uint8Array(0)));
    },
    UnreadableAudio,
    'empty chunks without end',
  );
  t.throws(
    () => new WavReader().push(file(format(), chunk('LIST', new Uint8Array(0), 0xffffffff))),
    UnreadableAudio,
    'a chunk that claims 4 GB',
  );
});

t.test('integers and floating point of every width, mixed to one channel', async (t) => {
  const data = (bytes: Buffer, layout: Format): number[] => samplesIn(file(format(layout), chunk('data', bytes)));
  t.same(data(Buffer.from([0, 128, 255]), { bits: 8 }), [-32_768, 0, 32_512], '8 bits are unsigned');
  t.same(data(Buffer.from([0, 0, 0x80, 0, 1, 0, 0xff, 0xff, 0x7f]), { bits: 24 }), [-32_768, 1, 32_767], '24 bits');
  t.same(
    data(Buffer.from(Int32Array.of(-(2 ** 31), 3 * 65_536, 2 ** 31 - 1).buffer), { bits: 32 }),
    [-32_768, 3, 32_767],
    '32 bits',
  );
  t.same(
    data(Buffer.from(Float32Array.of(-1, 0.5, 1, 7, Number.NaN).buffer), { tag: 3, bits: 32 }),
    [-32_768, 16_384, 32_767, 32_767, 0],
    'floating point, clipped',
  );
  t.same(data(Buffer.from(Float64Array.of(-0.25).buffer), { tag: 3, bits: 64 }), [-8192], 'of 64 bits');
  t.same(data(sixteen(100, 300, -5, -5, 32_767, 32_767), { channels: 2 }), [200, -5, 32_767], 'two channels');
  const guid = Buffer.from('0100000000001000800000aa00389b71', 'hex');
  const extensible = { tag: 0xfffe, channels: 2, more: Buffer.concat([Buffer.from([22, 0, 16, 0, 3, 0, 0, 0]), guid]) };
  t.same(data(sixteen(10, 20), extensible), [15], 'the extensible form');
});

t.test('a file that is no WAV, or of another encoding, is refused', async (t) => {
  const data = chunk('data', sixteen(1));
  const broken: Record<string, Uint8Array> = {
    nothing: new Uint8Array(0),
    'an error in JSON': Buffer.from('{"error":"no such voice"}'),
    'MP3 frames': new Uint8Array(500).fill(0xff),
    'no data': file(format()),
    'no format': file(data),
    'a format cut short': Buffer.concat([file(chunk('fmt ', new Uint8Array(8))), data]),
    ADPCM: file(format({ tag: 2, bits: 4 }), data),
    'µ-law': file(format({ tag: 7, bits: 8 }), data),
    'no channels': file(format({ channels: 0 }), data),
    ...Object.fromEntries(
      [0, 1, 7_999, 192_001, 240_000_000, 2 ** 32 - 1].map((rate) => [`a rate of ${rate}`, file(raw({ rate }), data)]),
    ),
    '33 channels': file(format({ channels: 33, bits: 8 }), data),
    '65535 channels': file(raw({ channels: 65_535, align: 65_535, bits: 8 }), data),
    '0 bits': file(raw({ bits: 0 }), data),
    'frames of no bytes': file(raw({ align: 0 }), data),
    'frames of another length': file(raw({ align: 3 }), data),
    RF64: Buffer.concat([Buffer.from('RF64'), file(format(), data).subarray(4)]),
    '12 bits': file(format({ bits: 12 }), data),
  };
  for (const [name, bytes] of Object.entries(broken)) t.throws(() => readWav(bytes), UnreadableAudio, name);
  const next = chance(3);
  const whole = file(format(), data);
  for (let round = 0; round < 2000; round++) {
    const damaged = Uint8Array.from(whole, (byte) => (next() < 0.05 ? Math.floor(next() * 256) : byte)).subarray(
      0,
      Math.ceil(next() * whole.length),
    );
    try {
      readWav(damaged);
    } catch (error) {
      if (!(error instanceof UnreadableAudio)) t.fail(`damaged: ${String(error)}`);
    }
  }
});
