/**
 * Replies whose every word has a known time. They say which text was heard after how much audio was played (contract
 * 18), without the server's own arithmetic.
 */
import { Random } from '../simulate/random.ts';

export const characterMs = 60;
/** The synthetic voice's samples of a character, at 16 kHz. */
const characterSamples = characterMs * 16;

interface SpokenWord {
  /** Position at which the word ends in the text, with the unspoken characters after it, in code points. */
  readonly end: number;
  /** Samples of the reply before it, and before its end. */
  readonly from: number;
  readonly to: number;
}

const syllables = ['ba', 'ko', 'li', 'mu', 'ne', 'po', 'ra', 'si', 'tu', 've', 'wo', 'za'];
const signs = ['😀', '👍🏽', '🎉'];

export class Script {
  readonly text: string;
  /** The length of all its audio. */
  readonly samples: number;
  readonly #words: readonly SpokenWord[];
  readonly #points: readonly string[];

  /** The same text for the same seed. */
  constructor(seed: number, sentences: number) {
    const random = new Random(seed);
    const words: SpokenWord[] = [];
    let [text, samples] = ['', 0];
    for (let sentence = 0; sentence < sentences; sentence++) {
      const count = random.between(3, 8);
      for (let index = 0; index < count; index++) {
        const said = wordOf(random, index === 0) + (index === count - 1 ? '.' : random.between(0, 6) === 0 ? ',' : '');
        const sign = index > 0 && index < count - 1 && random.between(0, 6) === 0 ? ` ${random.pick(signs)}` : '';
        // Marks are not said, and nor is a sign.
        text += `${text === '' ? '' : ' '}${random.between(0, 6) === 0 ? `**${said}**` : said}${sign}`;
        // White space lies between the words of a sentence, not between sentences.
        const from = samples + (index === 0 ? 0 : characterSamples);
        samples = from + said.length * characterSamples;
        words.push({ end: [...text].length, from, to: samples });
      }
    }
    this.text = text;
    this.samples = samples;
    this.#words = words;
    this.#points = [...text];
  }

  /** Text of the words that were played at least by half. */
  heardAt(samples: number): string {
    return this.#upTo(this.#words.findLast(({ from, to }) => (from + to) / 2 <= samples));
  }

  /** The text of the words that have begun. */
  begunAt(samples: number): string {
    return this.#upTo(this.#words.findLast(({ from }) => from < samples));
  }

  #upTo(word: SpokenWord | undefined): string {
    return word === undefined ? '' : this.#points.slice(0, word.end).join('');
  }
}

function wordOf(random: Random, first: boolean): string {
  const word = Array.from({ length: random.between(2, 4) }, () => random.pick(syllables)).join('');
  return first ? word[0]!.toUpperCase() + word.slice(1) : word;
}

/** The message that is answered with a script. */
export const asking = (seed: number, sentences: number): string => `say ${seed} ${sentences}`;

/** The script that a message, or the last one in it, asks for. */
export function askedFor(message: string): Script | null {
  const asked = [...message.matchAll(/say (\d+) (\d+)/g)].at(-1);
  return asked === undefined ? null : new Script(Number(asked[1]), Number(asked[2]));
}
