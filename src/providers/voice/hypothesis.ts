/**
 * The text of an utterance while it is spoken. Each decoding of the audio so far is a hypothesis, and the text that two
 * in a row share is stable. Stable text never changes (contract 8): later hypotheses, including the final one, continue
 * after it.
 */
import { codePoints } from '../../base/text.ts';

export interface Partial {
  readonly text: string;
  /** Code points at the beginning of `text` that never change. */
  readonly stable: number;
}

export class Hypothesis {
  /** Stable words, which never change. */
  #stable: readonly string[] = [];
  #last: readonly string[] = [];

  /** Takes another hypothesis of an utterance with this length. */
  take(text: string, spokenMs: number): Partial {
    const words = this.#continued(text);
    // The last word of either may be cut in the middle, and a repetition confirms itself.
    const agreed = Math.min(
      agreement(words, this.#last),
      settled(words, spokenMs),
      words.length - 1,
      this.#last.length - 1,
    );
    if (agreed > this.#stable.length && !isRepetition(words.slice(0, agreed))) this.#stable = words.slice(0, agreed);
    this.#last = words;
    const stable = this.#stable.join(' ');
    return { text: words.join(' '), stable: codePoints(stable) };
  }

  /** Returns the whole text, from the decoding of the whole utterance. */
  final(text: string): string {
    return this.#continued(text).join(' ');
  }

  /** Returns the hypothesis after the stable words: after their match in it, or after as many words. */
  #continued(text: string): readonly string[] {
    const words = text.split(/\s+/).filter((word) => word !== '');
    const stable = this.#stable;
    if (stable.length === 0 || agreement(words, stable) === stable.length) return words;
    return [...stable, ...words.slice(behind(stable, words))];
  }
}

/** Number of equal words at the beginning. */
function agreement(one: readonly string[], other: readonly string[]): number {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count++;
  return count;
}

/** Milliseconds for which later speech can still change a word. */
const unsettledMs = 1_000;

/** Returns the words that were said long enough ago, at an even pace of speech. */
function settled(words: readonly string[], spokenMs: number): number {
  const length = words.reduce((sum, word) => sum + word.length + 1, 0) * Math.max(0, 1 - unsettledMs / spokenMs);
  let [count, sum] = [0, 0];
  while (count < words.length && (sum += words[count]!.length + 1) <= length) count++;
  return count;
}

const bare = (word: string): string => word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** Maximum number of words by which the text may have shifted. */
const movedMax = 2;

/** Returns the position after the last stable word, searched near its previous position. */
function behind(stable: readonly string[], words: readonly string[]): number {
  const last = bare(stable.at(-1)!);
  const place = stable.length - 1;
  for (let moved = 0; moved <= movedMax; moved++) {
    for (const at of [place - moved, place + moved])
      if (at >= 0 && at < words.length && bare(words[at]!) === last) return at + 1;
  }
  return stable.length;
}

const loopWords = 4;
const loopRepeats = 3;

/** Whether the text ends in the third repetition of a group of words. */
function isRepetition(words: readonly string[]): boolean {
  for (let size = 1; size <= loopWords; size++) {
    const end = words.slice(-size * loopRepeats);
    if (end.length === size * loopRepeats && end.every((word, index) => bare(word) === bare(end[index % size]!)))
      return true;
  }
  return false;
}
