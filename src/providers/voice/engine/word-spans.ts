/**
 * Finds the span of each word in a sentence's audio, from the sounds that flite prints with their end times. Flite does
 * not report words, so each word is spoken alone once, and its sounds are aligned with the sounds of the sentence.
 */
import { counterparts } from '../audio/alignment.ts';
import type { VoiceSource } from './messages.ts';

/** Samples from the beginning of the sentence: `from` is included, `to` is not. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** One sound and its end, in seconds from the beginning of its utterance. */
export interface Phone {
  readonly name: string;
  readonly end: number;
}

const pause = 'pau';

/** The sounds of each utterance, pauses among them, as `-psdur` prints them: a line for each. */
export const phonesIn = (printed: string): Phone[][] =>
  printed.split('\n').flatMap((line) => {
    const phones = Array.from(line.matchAll(/(?<!\S)(\S+):([\d.]+)/g), ({ 1: name, 2: end }) => ({
      name: name!,
      end: Number(end),
    }));
    return phones.length > 0 ? [phones] : [];
  });

/** The sounds of a word when it is spoken alone. */
type WordPhones = readonly string[];

const wordsKeptMax = 5_000;

/** Cache of the sounds of words; keeps the last few thousand. */
export class PhonesOfWords {
  readonly #speak: (words: readonly string[], voice: VoiceSource) => Phone[][];
  /** Sounds by word, in the order of their last use. */
  readonly #cache = new Map<string, WordPhones>();

  /** Fills the cache. `speak`: returns the sounds of each word, spoken as a separate utterance. */
  constructor(speak: (words: readonly string[], voice: VoiceSource) => Phone[][]) {
    this.#speak = speak;
  }

  of(words: readonly string[], voice: VoiceSource): WordPhones[] {
    const keyOf = (word: string): string => `${voice.file ?? voice.name} ${word}`;
    const unknown = [...new Set(words)].filter((word) => !this.#cache.has(keyOf(word)));
    for (const [index, phones] of this.#spoken(unknown, voice).entries())
      this.#cache.set(keyOf(unknown[index]!), phones);
    const phones = words.map((word) => this.#used(keyOf(word)));
    for (const key of this.#cache.keys()) {
      if (this.#cache.size <= wordsKeptMax) break;
      this.#cache.delete(key);
    }
    return phones;
  }

  /**
   * Speaks all words at once, because a start of the program costs more than a word. A word that gives no utterance or
   * several is spoken alone.
   */
  #spoken(words: readonly string[], voice: VoiceSource): WordPhones[] {
    if (words.length === 0) return [];
    const utterances = this.#speak(words, voice);
    if (utterances.length === words.length) return utterances.map(namesOf);
    return words.length === 1 ? [namesOf(utterances.flat())] : words.flatMap((word) => this.#spoken([word], voice));
  }

  #used(key: string): WordPhones {
    const phones = this.#cache.get(key)!;
    this.#cache.delete(key);
    this.#cache.set(key, phones);
    return phones;
  }
}

const namesOf = (phones: readonly Phone[]): string[] => phones.flatMap(({ name }) => (name === pause ? [] : name));

/** Returns the span of each word; a word without a sound gets the end of the word before it. */
export function spansOfWords(
  words: readonly WordPhones[],
  utterances: readonly (readonly Phone[])[],
  { samples, sampleRate }: { samples: Int16Array; sampleRate: number },
): Span[] {
  const sounds = soundsOf(utterances, samples.length, sampleRate);
  const expected = words.flatMap((phones, word) => phones.map((name) => ({ name, word })));
  const spans: { from: number; to: number }[] = words.map(() => ({ from: -1, to: -1 }));
  for (const [index, counterpart] of counterparts(
    expected.map(({ name }) => name),
    sounds.map(({ name }) => name),
  ).entries()) {
    const span = spans[expected[counterpart]?.word ?? -1];
    if (span === undefined) continue;
    if (span.from < 0) span.from = sounds[index]!.from;
    span.to = sounds[index]!.to;
  }
  let end = 0;
  for (const span of spans) {
    if (span.from < 0) span.from = span.to = end;
    end = span.to;
  }
  return spans;
}

/** All sounds but the pauses, in samples of the whole audio. */
function soundsOf(
  utterances: readonly (readonly Phone[])[],
  samples: number,
  sampleRate: number,
): (Span & { readonly name: string })[] {
  // Some voices speak the last pause of an utterance whole, others half of it; the length of the audio shows which.
  const whole = utterances.map((phones) => phones.at(-1)!.end);
  const halved = utterances.map((phones) => (phones.at(-1)!.end + (phones.at(-2)?.end ?? 0)) / 2);
  const sum = (lengths: readonly number[]): number => lengths.reduce((all, length) => all + length, 0) * sampleRate;
  const lengths = Math.abs(sum(whole) - samples) <= Math.abs(sum(halved) - samples) ? whole : halved;
  // The printed ends are rounded to milliseconds.
  const scale = sum(lengths) > 0 ? (samples / sum(lengths)) * sampleRate : 0;
  let begin = 0;
  return utterances.flatMap((phones, utterance) => {
    const start = begin;
    begin += lengths[utterance]!;
    return phones.flatMap(({ name, end }, index) => {
      const from = index === 0 ? 0 : phones[index - 1]!.end;
      return name === pause
        ? []
        : [
            {
              name,
              from: Math.round((start + from) * scale),
              to: Math.min(samples, Math.round((start + end) * scale)),
            },
          ];
    });
  });
}
