/**
 * Telephone audio, ITU-T G.711: one byte is one sample on a logarithmic scale. Decoding is a table of 256 samples for
 * each law, encoding one of the nearest byte for each sample.
 */

/**
 * µ-law (North America, Japan). The byte is inverted; of its bits one is the sign, three the segment, four the step in
 * it. The bias of 33 makes each segment twice the one below.
 */
const muLaw = tableOf((byte) => {
  const bits = ~byte & 0xff;
  const magnitude = ((((bits & 0x0f) << 3) + 0x84) << ((bits & 0x70) >> 4)) - 0x84;
  return bits & 0x80 ? -magnitude : magnitude;
});

/**
 * A-law (elsewhere). Every second bit is inverted; a set sign bit is positive. The two lowest segments have one step
 * size, so only the others have the leading one.
 */
const aLaw = tableOf((byte) => {
  const bits = byte ^ 0x55;
  const segment = (bits & 0x70) >> 4;
  const step = ((bits & 0x0f) << 4) + 8;
  const magnitude = segment === 0 ? step : (step + 0x100) << (segment - 1);
  return bits & 0x80 ? magnitude : -magnitude;
});

function tableOf(sample: (byte: number) => number): Int16Array {
  return Int16Array.from({ length: 256 }, (_, byte) => sample(byte));
}

/** One sample for each byte of µ-law. */
export const samplesOfMuLaw = (bytes: Uint8Array): Int16Array => expanded(bytes, muLaw);

/** One sample for each byte of A-law. */
export const samplesOfALaw = (bytes: Uint8Array): Int16Array => expanded(bytes, aLaw);

function expanded(bytes: Uint8Array, table: Int16Array): Int16Array {
  const samples = new Int16Array(bytes.length);
  for (let at = 0; at < bytes.length; at++) samples[at] = table[bytes[at]!]!;
  return samples;
}

/** One byte of µ-law for each sample. */
export const bytesOfMuLaw = (samples: Int16Array): Uint8Array =>
  compressed(samples, (nearestMuLaw ??= nearestIn(muLaw)));

/** One byte of A-law for each sample. */
export const bytesOfALaw = (samples: Int16Array): Uint8Array => compressed(samples, (nearestALaw ??= nearestIn(aLaw)));

let nearestMuLaw: Uint8Array | undefined;
let nearestALaw: Uint8Array | undefined;

/** The byte whose sample is nearest, by the sample's 16 bits. */
function nearestIn(table: Int16Array): Uint8Array {
  const bytes = Array.from(table.keys()).toSorted((one, other) => table[one]! - table[other]!);
  const nearest = new Uint8Array(65_536);
  for (let sample = -32_768, at = 0; sample <= 32_767; sample++) {
    while (at < bytes.length - 1 && Math.abs(table[bytes[at + 1]!]! - sample) <= Math.abs(table[bytes[at]!]! - sample))
      at++;
    nearest[sample & 0xffff] = bytes[at]!;
  }
  return nearest;
}

function compressed(samples: Int16Array, nearest: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(samples.length);
  for (let at = 0; at < samples.length; at++) bytes[at] = nearest[samples[at]! & 0xffff]!;
  return bytes;
}
