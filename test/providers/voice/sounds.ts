/** Sounds that are computed, pieces that they are cut into, and measures of what comes out. */

/** `count` samples of a tone, in hertz, at `rate`. */
export const tone = (hertz: number, rate: number, count: number, peak = 16_000): Int16Array =>
  Int16Array.from({ length: count }, (_, at) => Math.round(peak * Math.sin((2 * Math.PI * hertz * at) / rate)));

/** Numbers from 0 to 1 that look random and are the same in each run. */
export function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/**
 * Something like a voice: a falling pitch with overtones, in syllables of different lengths, so that no two places are
 * alike.
 */
export function voice(rate: number, seconds: number): Int16Array {
  return Int16Array.from({ length: Math.round(rate * seconds) }, (_, at) => {
    const time = at / rate;
    // The integral of 180 Hz less 30 Hz times a slow sine, so that every rate samples the same sound.
    const phase = 2 * Math.PI * (180 * time + (30 / 1.7) * Math.cos(time * 1.7));
    const loudness = Math.max(0, Math.sin(time * 11 + 2 * Math.sin(time * 2.3)));
    return Math.round(6000 * loudness * (Math.sin(phase) + 0.6 * Math.sin(3 * phase) + 0.3 * Math.sin(7 * phase + 1)));
  });
}

/** The array in pieces of 0 to `most` elements. */
export function pieces<T extends Int16Array | Uint8Array>(whole: T, most: number, seed: number): T[] {
  const next = chance(seed);
  const parts: T[] = [];
  for (let from = 0; from < whole.length;) {
    const to = from + Math.floor(next() * (most + 1));
    parts.push(whole.subarray(from, to) as T);
    from = to;
  }
  return parts;
}

/** All samples, in one array. */
export function all(parts: Iterable<Int16Array>): Int16Array {
  const whole = [...parts];
  const samples = new Int16Array(whole.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of whole) {
    samples.set(part, at);
    at += part.length;
  }
  return samples;
}

/**
 * Whether two sounds are equal to the sample. An assertion on the arrays themselves writes out each, which takes
 * seconds.
 */
export const isSame = (one: Int16Array, other: Int16Array): boolean =>
  Buffer.from(one.buffer, one.byteOffset, one.byteLength).equals(
    Buffer.from(other.buffer, other.byteOffset, other.byteLength),
  );

/** The level of the second to the last but one tenth, in decibels below a full sine of `peak`. */
export function decibels(samples: Int16Array, peak: number): number {
  const edge = Math.floor(samples.length / 10);
  const middle = samples.subarray(edge, samples.length - edge);
  return (
    10 * Math.log10(middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length / ((peak * peak) / 2))
  );
}

/**
 * Similarity of two sounds: the lag of the second after the first, in samples, at which they are most alike, and their
 * correlation there (1: equal but for loudness).
 */
export function likeness(one: Int16Array, other: Int16Array, lagMax: number): { lag: number; correlation: number } {
  let best = { lag: 0, correlation: -1 };
  for (let lag = -lagMax; lag <= lagMax; lag++) {
    const correlation = correlationAt(one, other, lag);
    if (correlation > best.correlation) best = { lag, correlation };
  }
  return best;
}

function correlationAt(one: Int16Array, other: Int16Array, lag: number): number {
  let product = 0;
  let ones = 0;
  let others = 0;
  for (let at = Math.max(0, -lag); at < one.length && at + lag < other.length; at++) {
    product += one[at]! * other[at + lag]!;
    ones += one[at]! ** 2;
    others += other[at + lag]! ** 2;
  }
  return product / Math.sqrt(ones * others || 1);
}
