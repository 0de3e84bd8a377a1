/**
 * Reads and writes lines of a file or a pipe, compressed if the file's name ends in `.gz`. At most a few lines are in
 * memory.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { DumpRefused } from '../../store/dump.ts';
import { codeOfThrown, messageOfThrown } from '../../base/thrown.ts';

/** Bytes of one row in a file. */
export const movingLineBytesMax = 16 * 1024 * 1024;

const isPacked = (path: string): boolean => path.endsWith('.gz');

/** Bytes passed on at a time. */
const chunkCharacters = 64 * 1024;

/**
 * Writes all lines to a file or a stream, which stays open. `name`: the file's later name, which says whether it is
 * compressed.
 */
export async function writeLines(
  lines: AsyncIterable<string>,
  out: string | NodeJS.WritableStream,
  name?: string,
): Promise<void> {
  if (typeof out !== 'string') return pipeline(chunks(lines), out, { end: false });
  // The contents are readable for the file's owner alone.
  const file = createWriteStream(out, { mode: 0o600, flush: true });
  await pipeline(chunks(lines), isPacked(name ?? out) ? createGzip() : new PassThrough(), file);
}

async function* chunks(lines: AsyncIterable<string>): AsyncGenerator<string> {
  let chunk = '';
  for await (const line of lines) {
    chunk += `${line}\n`;
    if (chunk.length < chunkCharacters) continue;
    yield chunk;
    chunk = '';
  }
  yield chunk;
}

export interface LinesOptions {
  /** Called with the file, so that the caller can see how far it was read. */
  readonly opened?: (file: { readonly bytesRead: number }) => void;
}

/** The lines of a file or a stream. The last line counts only if it has a line end. */
export async function* readLines(
  input: string | NodeJS.ReadableStream,
  { opened }: LinesOptions = {},
): AsyncGenerator<string> {
  const file = typeof input === 'string' ? createReadStream(input, { highWaterMark: chunkCharacters }) : null;
  if (file !== null) opened?.(file);
  let text = file ?? (input as NodeJS.ReadableStream);
  if (typeof input === 'string' && isPacked(input)) {
    // An incomplete compressed file gives as much as can be unpacked; its missing closing line shows that it is
    // incomplete.
    const unpacked = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    pipeline(text, unpacked).catch(() => {});
    text = unpacked;
  }
  let rest: Buffer[] = [];
  let lineBytes = 0;
  try {
    for await (const bytes of text as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
        yield Buffer.concat([...rest, bytes.subarray(from, at)]).toString('utf8');
        rest = [];
        lineBytes = 0;
        from = at + 1;
      }
      rest.push(bytes.subarray(from));
      lineBytes += bytes.length - from;
      if (lineBytes > movingLineBytesMax)
        throw new DumpRefused(
          `The file has a line of more than ${movingLineBytesMax} bytes: it is not an export of parley.`,
        );
    }
  } catch (error) {
    if (String(codeOfThrown(error)).startsWith('Z_'))
      throw new DumpRefused(`The file cannot be unpacked: ${messageOfThrown(error)}.`);
    throw error;
  } finally {
    file?.destroy();
  }
}
