/** Reads and writes lines of a file or a pipe, compressed if the file's name ends in `.gz`. At most a few lines are in memory. */
import { createReadStream, createWriteStream } from 'node:fs';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { limits } from '../limits.ts';
import { DumpRefused } from '../store/dump.ts';

const isPacked = (path: string): boolean => path.endsWith('.gz');

/** How many bytes are passed on at a time. */
const chunkCharacters = 64 * 1024;

/** Writes all lines. `path`: the file to write; `name`: its later name, which says whether it is compressed; null for stdout. */
export async function writeLines(lines: AsyncIterable<string>, path: string | null, name: string | null): Promise<void> {
  if (path === null) return pipeline(chunks(lines), process.stdout, { end: false });
  // The contents are readable for the file's owner alone.
  const file = createWriteStream(path, { mode: 0o600, flush: true });
  await pipeline(chunks(lines), isPacked(name ?? path) ? createGzip() : new PassThrough(), file);
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
  /** The name that says whether the file is compressed; the path by default. */
  readonly name?: string;
  /** Called with the file, so that the caller can see how far it was read. */
  readonly opened?: (file: { readonly bytesRead: number }) => void;
}

/** The lines of a file, or of stdin for null. The last line counts only if it has a line end. */
export async function* readLines(path: string | null, { name, opened }: LinesOptions = {}): AsyncGenerator<string> {
  const file = path === null ? null : createReadStream(path, { highWaterMark: chunkCharacters });
  if (file !== null) opened?.(file);
  const source: Readable = file ?? process.stdin;
  let text: Readable = source;
  if (isPacked(name ?? path ?? '')) {
    // An incomplete compressed file gives as much as can be unpacked; its missing closing line shows that it is incomplete.
    text = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    pipeline(source, text as unknown as Writable).catch(() => {});
  }
  let rest: Buffer[] = [];
  let held = 0;
  try {
    for await (const bytes of text as AsyncIterable<Buffer>) {
      let from = 0;
      for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, from)) {
        yield Buffer.concat([...rest, bytes.subarray(from, at)]).toString('utf8');
        rest = [];
        held = 0;
        from = at + 1;
      }
      rest.push(bytes.subarray(from));
      held += bytes.length - from;
      if (held > limits.movingLineBytesMax) throw new DumpRefused(`The file has a line of more than ${limits.movingLineBytesMax} bytes: it is no export of parley.`);
    }
  } catch (error) {
    if (String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw new DumpRefused(`The file cannot be unpacked: ${(error as Error).message}.`);
    throw error;
  } finally {
    file?.destroy();
  }
}
