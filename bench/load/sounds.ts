/** Sounds that are no words, and clips put together: s16le, mono, 16 kHz, made from a seed. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { seeded } from '../text.ts';
import { bytesPerMs, clipOf, type Clip } from './clips.ts';

const samplesPerMs = bytesPerMs / 2;
const loudest = 9_000;

const clipFrom = (samples: Int16Array): Clip => clipOf(Buffer.from(samples.buffer));

/** Noise that fades, as a cough, a knock or a door does: so long, and the first `steep` of it the loudest. */
export function burst(seed: number, ms: number, steep: number): Clip {
  const random = seeded(seed);
  let low = 0;
  return clipFrom(
    Int16Array.from({ length: ms * samplesPerMs }, (_, at) => {
      const share = at / (ms * samplesPerMs);
      // Noise without its highest part sounds less like a hiss.
      low += 0.4 * (random() * 2 - 1 - low);
      return loudest * low * Math.min(1, share / steep) * (1 - share);
    }),
  );
}

/** Steady noise, as of a street. */
export function hum(seed: number, ms: number): Clip {
  const random = seeded(seed);
  return clipFrom(Int16Array.from({ length: ms * samplesPerMs }, () => loudest * 0.3 * (random() * 2 - 1)));
}

/** Three notes of a chord, one after the other, as of a telephone or a radio. */
export const chord = (ms: number): Clip =>
  clipFrom(
    Int16Array.from(
      { length: ms * samplesPerMs },
      (_, at) =>
        loudest *
        0.6 *
        Math.sin((2 * Math.PI * [440, 554, 659][Math.floor((at / (ms * samplesPerMs)) * 3)]! * at) / 16_000),
    ),
  );

/** One clip and another with so much silence between the voice of both. */
export function withPause(first: Clip, ms: number, second: Clip): { readonly first: Clip; readonly rest: Clip } {
  const spoken = first.audio.subarray(0, first.endMs * bytesPerMs);
  const silent = Buffer.alloc(Math.max(0, ms - second.onsetMs) * bytesPerMs);
  return {
    first: { ...first, audio: spoken },
    rest: {
      audio: Buffer.concat([silent, second.audio]),
      onsetMs: second.onsetMs + silent.length / bytesPerMs,
      endMs: second.endMs + silent.length / bytesPerMs,
    },
  };
}

/**
 * The folder of Debian's package `asterisk-core-sounds-en-wav`: prompts of a telephone exchange, spoken by one person,
 * at 8 kHz.
 */
const folder = '/usr/share/asterisk/sounds/en';
const wavHeaderBytes = 44;
/** The kind of prompt that a caller could have said, too: a few words, not one. */
const [shortestMs, longestMs] = [1_200, 4_000];

/** The names of their files, none where the package is not installed: to read them all takes seconds. */
export const promptFiles = (): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.wav'))
        .sort()
    : [];

/** Returns prompts of a person, in the order of their names; none where the package is not installed. */
export function prompts(): Clip[] {
  return promptFiles()
    .map((name) => doubled(readFileSync(join(folder, name)).subarray(wavHeaderBytes)))
    .filter(({ onsetMs, endMs }) => endMs - onsetMs >= shortestMs && endMs - onsetMs <= longestMs);
}

/** 8 kHz at 16 kHz: between two samples stands their mean. */
function doubled(bytes: Buffer): Clip {
  const samples = new Int16Array(Math.floor(bytes.length / 2) * 2);
  for (let at = 0; at + 1 < bytes.length; at += 2) {
    const [one, next] = [bytes.readInt16LE(at), at + 3 < bytes.length ? bytes.readInt16LE(at + 2) : 0];
    samples[at] = one;
    samples[at + 1] = (one + next) / 2;
  }
  return clipFrom(samples);
}
