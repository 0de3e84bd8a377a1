/**
 * Runs the built command. `serve` runs from one script, since more than half of a server's start went to compiling:
 * V8's work is kept beside the script, for each version and each set of flags of V8, by the first process that runs
 * for a second; who cannot write there compiles again. The other commands load only the modules that they need. The
 * build puts this file beside both.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { cachedDataVersionTag, setFlagsFromString } from 'node:v8';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

/**
 * The young generation's bounds, which `npm start` gives on the command line, since V8 reads them once, before any code
 * runs. As flags they also make V8 refuse all that was compiled without them, so they are taken back: the bounds stay,
 * and Node's own modules load from their compiled form.
 */
for (const flag of ['--min-semi-space-size=0', '--max-semi-space-size=0']) setFlagsFromString(flag);

const folder = dirname(fileURLToPath(import.meta.url));
const file = join(folder, 'server.cjs');
const cacheFile = join(folder, `server-${cachedDataVersionTag().toString(16)}.compiled`);

/** A server has run its start's functions by then: only functions that ran are compiled. */
const startedAfterMs = 1000;

/**
 * Growth of the old generation until its next collection, as a percentage of the objects that outlived the last one. V8
 * reads the flag after each; a version that does not know it only uses more memory. Set before the start, it would
 * make V8 refuse all that was compiled without it, Node's own modules too.
 */
const heapFlag = '--heap-growing-percent=150';

/**
 * V8 allocates objects directly in the old generation where the objects of that place in the code outlived a few
 * collections, as the objects of turns do while many turns run. Each of them then keeps all that it refers to, mostly
 * a whole turn, alive until the next collection of the old generation.
 */
const tenureFlag = '--no-allocation-site-pretenuring';

/**
 * The header of the code cache: checksums of its source, since V8 compares only the length, and of the cache itself, in
 * case the disk has damaged it.
 */
const headBytes = 8;

function head(source, code) {
  const bytes = Buffer.alloc(headBytes);
  bytes.writeUInt32LE(crc32(source), 0);
  bytes.writeUInt32LE(crc32(code), 4);
  return bytes;
}

function readKept(source) {
  try {
    const bytes = readFileSync(cacheFile);
    const code = bytes.subarray(headBytes);
    return head(source, code).equals(bytes.subarray(0, headBytes)) ? code : undefined;
  } catch {
    return undefined;
  }
}

function keep(script, source) {
  const unfinished = `${cacheFile}.${process.pid}`;
  try {
    const code = script.createCachedData();
    writeFileSync(unfinished, Buffer.concat([head(source, code), code]));
    renameSync(unfinished, cacheFile);
  } catch {
    rmSync(unfinished, { force: true });
  }
}

function runScript() {
  const source = readFileSync(file);
  const cachedData = readKept(source);
  // The text has no character beyond ASCII. As latin1 it stays outside V8's heap.
  const script = new Script(source.toString('latin1'), { filename: file, cachedData });
  setTimeout(() => {
    if (cachedData === undefined || script.cachedDataRejected) keep(script, source);
    setFlagsFromString(heapFlag);
    setFlagsFromString(tenureFlag);
  }, startedAfterMs).unref();
  script.runInThisContext()(createRequire(file), file);
}

/**
 * Whether a file's URL is its path with `file:` before it, as packages that were made CommonJS by a bundler take it to
 * be: lmdb finds no native part below a folder with `#`, `?` or `%` in its name. As modules they find theirs anywhere,
 * and start a little later.
 */
function isPlain(path) {
  try {
    return fileURLToPath(new URL(`file:${path}`)) === path;
  } catch {
    return false;
  }
}

if (process.argv[2] === 'serve' && isPlain(file)) runScript();
else await import(pathToFileURL(join(folder, 'commands.mjs')).href);
