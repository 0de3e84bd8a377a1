/**
 * The text that every benchmark streams: the same on every run, and known to both ends, so that a lost or doubled
 * character shows.
 */

/** Includes characters that a JSON string must escape, and characters of several bytes in UTF-8. */
const words = [
  ' the',
  ' of',
  ' and',
  ' to',
  ' in',
  ' is',
  ' answer',
  ' you',
  ' "quoted"',
  ' señor',
  ' one',
  ' more',
  ',',
  '.',
  '\n',
  ' naïve',
  ' 🙂',
  ' con',
  'versa',
  'tion',
  ' –',
  ' can',
];

const vocabularySize = 509;
const seed = 20_260_701;

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function seeded(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const random = seeded(seed);
/** The tokens of every answer, repeated again and again. */
export const vocabulary: readonly string[] = Array.from(
  { length: vocabularySize },
  () => words[Math.floor(random() * words.length)]!,
);

export const tokenAt = (index: number): string => vocabulary[index % vocabularySize]!;

/** The request for a stream: it is the model's name, so that it passes through any server unchanged. */
export interface Shape {
  readonly tokens: number;
  /** Tokens a second; 0 sends all of them at once. */
  readonly rate: number;
  /**
   * The writes of an answer sent at once: `one` with the head and the end (the default), or `many`, one for each event,
   * as providers do that write an event when they have it.
   */
  readonly writes?: Writes;
}

export type Writes = 'one' | 'many';

export const modelName = ({ tokens, rate, writes }: Shape): string =>
  `tokens=${tokens},rate=${rate}${writes === undefined ? '' : `,writes=${writes}`}`;

export function shapeOf(model: string): Shape | null {
  const found = /^tokens=(\d+),rate=(\d+)(?:,writes=(one|many))?$/.exec(model);
  return found === null
    ? null
    : {
        tokens: Number(found[1]),
        rate: Number(found[2]),
        ...(found[3] !== undefined && { writes: found[3] as Writes }),
      };
}
