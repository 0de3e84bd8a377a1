/**
 * Changes of bytes regardless of their meaning: characters put, inserted, dropped and repeated, and the whole cut into
 * segments.
 */
import fc from 'fast-check';

/** The bytes sent: Latin-1, a segment each. */
export type Pieces = readonly string[];

export type Change = readonly [how: string, at: number, text: string];
const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom('put', 'insert', 'drop', 'repeat'),
  fc.nat(4000),
  fc.oneof(
    fc.constantFrom('\r', '\n', '\r\n', '\0', ' ', ':', '\t', '\xff', '%', '/', '"'),
    fc.string({ maxLength: 3 }),
  ),
);

/** The bytes after one change. */
export function changed(bytes: string, [how, at, text]: Change): string {
  const place = at % (bytes.length + 1);
  const size = Math.max(text.length, 1);
  if (how === 'insert') return bytes.slice(0, place) + text + bytes.slice(place);
  if (how === 'repeat') return bytes.slice(0, place + size * 8) + bytes.slice(place);
  return bytes.slice(0, place) + (how === 'put' ? text : '') + bytes.slice(place + size);
}

/** A list of a few changes, or an empty one. */
export const changes = fc.oneof(
  { arbitrary: fc.constant<Change[]>([]), weight: 2 },
  fc.array(change, { maxLength: 3 }),
);

/** Mostly nowhere. */
export const cuts = fc.oneof(
  { arbitrary: fc.constant<number[]>([]), weight: 5 },
  fc.array(fc.nat(4000), { maxLength: 3 }),
);

/** Cut where the numbers say, with no empty piece. */
export function inPieces(bytes: string, cuts: readonly number[]): Pieces {
  const places = [0, ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places
    .slice(1)
    .map((end, index) => bytes.slice(places[index], end))
    .filter((piece) => piece !== '');
}
