/**
 * Samples in memory: mono, 16 bits, signed; and the bytes that carry them, little-endian, two for a sample. Every
 * processor that Node runs on here is little-endian too.
 */

export const noSamples: Int16Array = new Int16Array(0);
export const noBytes: Uint8Array = new Uint8Array(0);

/**
 * The samples of an even number of bytes; a last odd byte is left out. Copies, as bytes may lie at an odd address,
 * where no Int16Array can be.
 */
export function samplesOf(bytes: Uint8Array): Int16Array {
  const samples = new Int16Array(bytes.length >> 1);
  new Uint8Array(samples.buffer).set(bytes.subarray(0, samples.length * 2));
  return samples;
}

/** The bytes of samples; a copy, so that the caller may reuse its buffer. */
export const bytesOf = (samples: Int16Array): Uint8Array =>
  new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength).slice();

/** All parts, one after another, in one array. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** All parts, one after another, in one array of samples. */
export function joinedSamples(parts: readonly Int16Array[]): Int16Array {
  if (parts.length === 1) return parts[0]!;
  const whole = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/**
 * A sample from a number that may lie outside of 16 bits: rounded, and clipped instead of wrapped, as a wrapped peak is
 * a loud click.
 */
export const clipped = (value: number): number =>
  value >= 32767 ? 32767 : value <= -32768 ? -32768 : Math.round(value);

/** Samples as a stream. */
export async function* onePiece(samples: Int16Array): AsyncGenerator<Int16Array> {
  yield samples;
}
