/** The log loses no line. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import t from 'tap';
import type { openLog } from '../../src/base/log.ts';
import { temporaryFolder } from '../folders.ts';

/** The log and its clock as one module, built once for all processes. */
const built = join(await temporaryFolder(t), 'log.mjs');
await build({
  stdin: {
    contents: "export { openLog } from './log.ts'; export { WheelClock } from './clock.ts';",
    resolveDir: fileURLToPath(new URL('../../src/base', import.meta.url)),
  },
  ...{ outfile: built, bundle: true, format: 'esm', platform: 'node', logLevel: 'error' },
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
});

/**
 * Returns the output of a process that opens a log, runs the script and ends: the messages, in order of the alphabet.
 */
function printed(script: string, options: Parameters<typeof openLog>[2] = {}): string[] {
  const program = `
    import { openLog, WheelClock } from ${JSON.stringify(pathToFileURL(built).href)};
    const clock = new WheelClock();
    const log = openLog('info', clock, ${JSON.stringify(options)});
    ${script}`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  // Lines being written when the process ended may come after lines that were still held.
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line): string => JSON.parse(line).msg)
    .toSorted();
}

t.test('lines that wait for a fuller write are written when the process ends, however it ends', async (t) => {
  const lines = 'log.info("first"); log.info("x".repeat(100_000)); log.warn("last");';
  const expected = ['first', 'last', 'x'.repeat(100_000)];
  t.same(printed(`${lines} process.exit(0);`), expected, 'asked to');
  t.same(printed(`${lines} throw new Error('fault');`), expected, 'by a fault');
  t.same(printed(`${lines} log.flush(() => process.exit(0));`), expected, 'once it was flushed');
});

t.test('a line that waits leaves by itself', async (t) => {
  const kill = '() => process.kill(process.pid, "SIGKILL")';
  const killedOnceWritten = `const { write } = fs; fs.write = (...given) => write(...given.slice(0, -1), ${kill});`;
  t.same(
    printed(
      `import fs from 'node:fs'; ${killedOnceWritten} log.info("first"); log.info("second"); clock.after(10_000, ${kill});`,
    ),
    ['first', 'second'],
  );
});

t.test('lines that come during a write leave after it', async (t) => {
  const slow = 'const { write } = fs; fs.write = (...given) => clock.after(500, () => write(...given));';
  const kill = '() => process.kill(process.pid, "SIGKILL")';
  const script = `import fs from 'node:fs'; ${slow} log.info("first"); clock.after(200, () => log.info("second")); clock.after(300, () => log.info("x".repeat(30_000))); clock.after(3000, ${kill});`;
  t.same(printed(script), ['first', 'second', 'x'.repeat(30_000)]);
});

t.test('a flush calls back when all is written, also what came during a write', async (t) => {
  const slow = 'const { write } = fs; fs.write = (...given) => clock.after(300, () => write(...given));';
  const killOnceFlushed = 'log.flush(() => process.kill(process.pid, "SIGKILL"))';
  t.same(
    printed(
      `import fs from 'node:fs'; ${slow} log.info("first"); clock.after(150, () => { log.info("second"); ${killOnceFlushed}; });`,
    ),
    ['first', 'second'],
  );
});

t.test('where nothing is logged nothing is written', async (t) => {
  const counted = 'let writes = 0; const { write } = fs; fs.write = (...given) => (writes++, write(...given));';
  t.same(
    printed(
      `import fs from 'node:fs'; ${counted} log.info("first"); log.info("second"); clock.after(300, () => log.info(String(writes)));`,
    ),
    ['1', 'first', 'second'],
  );
});

t.test('lines leave together, and where several processes log in pieces that a pipe takes whole', async (t) => {
  const sized =
    'const sizes = []; const { write } = fs; fs.write = (...given) => (sizes.push(Buffer.byteLength(given[1])), write(...given));';
  const lines =
    'for (let line = 0; line < 100; line++) log.info("ñ".repeat(100)); clock.after(300, () => log.info(`sizes ${sizes}`));';
  const sizes = (options: Parameters<typeof openLog>[2]): number[] => {
    const said = printed(`import fs from 'node:fs'; ${sized} ${lines}`, options);
    t.equal(said.length, 101);
    return said
      .find((line) => line.startsWith('sizes'))!
      .slice('sizes '.length)
      .split(',')
      .map(Number);
  };
  t.equal(sizes({}).length, 1);
  for (const options of [{ worker: 3 }, { shared: true }]) {
    const pieces = sizes(options);
    t.ok(pieces.length > 1 && pieces.every((size) => size <= 4096), String(pieces));
  }
});
