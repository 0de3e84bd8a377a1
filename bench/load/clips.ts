/** Audio that is played to transcription sockets: s16le, mono, 16 kHz. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const bytesPerMs = 32;

export interface Clip {
  readonly audio: Buffer;
  /** Beginning and end of its speech, in milliseconds. */
  readonly onsetMs: number;
  readonly endMs: number;
}

/** About two seconds each, without a pause that would be taken for an end. */
export const sentences = [
  'What is the weather in London today',
  'I would like to book a table for four',
  'The number is two nine three four zero',
  'Please send the invoice to my old address',
  'Can you tell me when the next train leaves',
  'There was nobody at home when we called',
];

/** Samples louder than this part of the loudest count as speech. */
const speechShare = 0.05;

export function clipOf(audio: Buffer): Clip {
  const samples = new Int16Array(audio.buffer.slice(audio.byteOffset, audio.byteOffset + audio.length));
  let peak = 0;
  for (const sample of samples) peak = Math.max(peak, Math.abs(sample));
  const isSpeech = (sample: number): boolean => Math.abs(sample) >= peak * speechShare;
  const [first, last] = [samples.findIndex(isSpeech), samples.findLastIndex(isSpeech)];
  return { audio, onsetMs: Math.floor((first * 2) / bytesPerMs), endMs: Math.ceil((last * 2) / bytesPerMs) };
}

export interface HumanClip {
  readonly audio: Buffer;
  readonly text: string;
}

/**
 * The folder of recordings in Debian's package `pocketsphinx-testdata`: people who read cards, and a book of LibriVox.
 */
const folder = '/usr/share/pocketsphinx/test/data';

const wavHeaderBytes = 44;

/** Returns clips of people with their words; none where the package is not installed. */
export function humanClips(): HumanClip[] {
  return ['cards', 'librivox'].flatMap((name) => {
    const file = join(folder, name, name === 'cards' ? 'cards.transcription' : 'transcription');
    if (!existsSync(file)) return [];
    return [...readFileSync(file, 'utf8').matchAll(/<s>(.*)<\/s>\s*\((.*)\)/g)].map(([, text = '', id]) => ({
      audio: readFileSync(join(folder, name, `${id}.wav`)).subarray(wavHeaderBytes),
      text,
    }));
  });
}

const numbers = 'zero one two three four five six seven eight nine ten'.split(' ');

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .replace(/\bmr\b\.?/g, 'mister')
    .replace(/\d+/g, (digits) => numbers[Number(digits)] ?? digits)
    .replace(/[^a-z' ]/g, ' ')
    .split(' ')
    .filter((word) => word !== '');

/**
 * Returns the word errors: the fewest words to insert, drop or change that make one text of the other, and the number
 * of words spoken.
 */
export function wordErrors(said: string, heard: string): { readonly wrong: number; readonly words: number } {
  const [one, other] = [wordsOf(said), wordsOf(heard)];
  let row = other.map((_, index) => index + 1);
  row.unshift(0);
  for (const [index, word] of one.entries()) {
    const next = [index + 1];
    for (const [at, against] of other.entries())
      next.push(Math.min(row[at]! + (word === against ? 0 : 1), row[at + 1]! + 1, next[at]! + 1));
    row = next;
  }
  return { wrong: row.at(-1)!, words: one.length };
}
