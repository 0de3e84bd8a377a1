/**
 * `npm test [-- FILES]`: installs what is missing, checks the types, builds, runs the tests and ends with the one line
 * `N passed, N failed[, N skipped]`. It counts assertions, and a failed step before the tests as one failure.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build, checkNode, install, PrepareError, root } from '../src/prepare.mjs';
import { bundle, sourceOf } from './bundle.mjs';

const tool = (...path) => join(root, 'node_modules', ...path);
const tap = tool('tap', 'dist', 'esm', 'run.mjs');
const print = (text) => process.stdout.write(`${text}\n`);
const counts = { passed: 0, failed: 0, skipped: 0 };

function fail(text) {
  counts.failed++;
  print(text);
}

/** Runs a step, tells how long it took, and turns what a person can mend into a failure. */
async function step(name, run) {
  const started = performance.now();
  try {
    await run();
    print(`ok ${name} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    fail(`not ok ${name}: ${error.message}`);
  }
}

function runTool(script, args, stdio = 'inherit') {
  const { status } = spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: ['ignore', stdio, 'inherit'] });
  if (status !== 0) throw new PrepareError('see above.');
}

/** A fresh tap still carries the plugin that `.taprc` leaves out, and its first run would use it: tap is rebuilt before. */
function rebuildTap() {
  const built = readFileSync(tool('@tapjs', 'test', 'test-built', 'dist', 'esm', 'index.js'), 'utf8');
  if (built.includes('@tapjs/typescript')) runTool(tap, ['build'], 'ignore');
}

/** The test files that an argument names: one file, or all within a folder. tap says nothing of an argument that names none. */
function testFiles(argument) {
  const path = relative(root, resolve(root, argument));
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  const inFolder = () => readdirSync(join(root, path), { recursive: true }).filter((name) => name.endsWith('.test.ts')).sort();
  const files = found?.isDirectory() ? inFolder().map((name) => join(path, name)) : found ? [path] : [];
  if (files.length === 0) fail(`not ok ${argument}: no test file there`);
  return files;
}

/** Runs the test files and tells of each. After a file that ran out of time tap leaves another one out, so what is left out is run again. */
async function runTests(bundles) {
  const told = await runTap(bundles);
  const left = bundles.filter((path) => !told.has(path.replaceAll('\\', '/')));
  if (left.length > 0 && left.length < bundles.length) await runTests(left);
  else for (const path of left) fail(`not ok ${sourceOf(path)}: tap did not run it`);
}

/** Resolves with the names of the bundles that tap ran. */
async function runTap(bundles) {
  const { Parser } = await import('tap-parser');
  const child = spawn(process.execPath, [tap, '--reporter=tap', ...bundles], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => child.once('close', (code, signal) => done(signal ?? code)));
  const report = new Parser();
  const told = new Set();
  const lines = fileLines();
  report.on('child', (file) => {
    told.add(file.name);
    lines.begin(file);
  });
  report.on('assert', ({ time }) => lines.took(time));
  report.on('extra', (text) => process.stdout.write(text));
  report.on('result', tellResult);
  child.stdout.pipe(report);
  const before = counts.failed;
  const code = await ended;
  lines.end();
  if (code !== 0 && counts.failed === before) fail(`not ok tap ended with ${code}`);
  return told;
}

/** One line for each file, after the failures in it. How the file as a whole ended follows its end, so the line waits for the next file. */
function fileLines() {
  let tell = () => {};
  let took = null;
  const begin = (file) => {
    tell();
    const before = { ...counts };
    took = null;
    tell = () => {
      const [passed, failed, skipped] = Object.keys(counts).map((key) => counts[key] - before[key]);
      const words = [`${passed} passed`, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`, took !== null && `${(took / 1000).toFixed(1)} s`];
      print(`${failed > 0 ? 'not ok' : 'ok'} ${sourceOf(file.name)} (${words.filter(Boolean).join(', ')})`);
    };
  };
  return { begin, took: (milliseconds) => (took = milliseconds ?? null), end: () => tell() };
}

const nameOf = ({ fullname }) => fullname.split(' > ').map(sourceOf).join(' > ');

function tellResult(result) {
  if (result.skip === 'no tests found') fail(`not ok ${nameOf(result)}: it made no assertion`);
  else if (result.skip || result.todo) {
    counts.skipped++;
    print(`skipped ${nameOf(result)}: ${result.skip || result.todo}`);
  } else if (result.ok) counts.passed++;
  else fail(`not ok ${nameOf(result)}${details(result.diag ?? {})}`);
}

/** How tap started the file, which it tells with a file that failed as a whole. */
const startedAs = new Set(['stdio', 'cwd', 'externalID', 'command', 'args', 'jobId']);

function details(diagnosis) {
  const lines = Object.entries(diagnosis).flatMap(([key, value]) => {
    if (startedAs.has(key)) return [];
    const text = typeof value === 'string' ? value.trimEnd() : JSON.stringify(value);
    return text.includes('\n') ? [`${key}:`, ...text.split('\n').map((line) => `  ${line}`)] : [`${key}: ${text}`];
  });
  return lines.map((line) => `\n    ${line}`).join('');
}

await step('packages', () => {
  checkNode();
  install({ development: true });
});
if (counts.failed === 0) {
  await step('types', () => runTool(tool('typescript', 'bin', 'tsc'), ['-p', '.']));
  await step('build', build);
  await step('tap', rebuildTap);
  const files = (process.argv.length > 2 ? process.argv.slice(2) : ['test']).flatMap(testFiles);
  let bundles = [];
  await step('bundles', async () => (bundles = await bundle(files)));
  if (bundles.length > 0) await runTests(bundles);
}
print(`${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`);
process.exitCode = counts.failed > 0 ? 1 : 0;
