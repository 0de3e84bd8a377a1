/** Texts that have their places, and the search for them, whole or in part and in other clothes, in bytes. */
import { createHash } from 'node:crypto';

export interface Canary {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * A text that is nowhere else, the same in every run: letters and digits, so that it stays as it is wherever it is put.
 */
export const canaryText = (name: string): string =>
  `c${createHash('sha256').update(`canary ${name}`).digest('hex').slice(0, 47)}`;

export const canary = (name: string, bytes: string | Buffer = canaryText(name)): Canary => ({
  name,
  bytes: Buffer.from(bytes as string),
});

/** A piece of this length counts as the whole, since it has most of the secret. */
const pieceBytes = 16;

/**
 * The forms that a canary may take: in whole or a piece of it, as UTF-16, in hexadecimal and in base 64 at each of its
 * three alignments.
 */
function* patterns(bytes: Buffer): Iterable<Buffer> {
  for (let at = 0; at + pieceBytes <= bytes.length; at++) yield bytes.subarray(at, at + pieceBytes);
  yield Buffer.from(bytes.toString('latin1'), 'utf16le');
  yield Buffer.from(bytes.toString('hex'));
  yield Buffer.from(bytes.toString('hex').toUpperCase());
  for (let before = 0; before < 3; before++) {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '');
    // The first and the last group depend on the neighbours.
    for (const form of [text, text.replaceAll('+', '-').replaceAll('/', '_')]) yield Buffer.from(form.slice(4, -4));
  }
}

/** Returns the names of the canaries that are in the bytes. */
export const found = (haystack: Buffer, canaries: readonly Canary[]): string[] =>
  canaries
    .filter(({ bytes }) => [...patterns(bytes)].some((pattern) => haystack.includes(pattern)))
    .map(({ name }) => name);
