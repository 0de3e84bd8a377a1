/**
 * `npm test [-- FILES]`: installs what is missing, checks types and format, lints, builds, runs the tests and ends with the
 * one line `N passed, N failed[, N skipped]`. It counts assertions, and a failed step before the tests as one failure.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { buildClient } from '../src/install/pack-client.mjs';
import { build, checkNode, install, PrepareError, root } from '../src/install/prepare.mjs';
import { bundleWithInputs } from './bundle.mjs';
import { filesOf, jobsOf, keepTimes } from './run/jobs.mjs';
import { runAll, secondsOf } from './run/pool.mjs';
import { installPrograms, programsOf } from './run/programs.mjs';
import { measureSpeed, slownessVariable } from './run/speed.mjs';

const usage = `Usage: npm test [-- [options] [path...]]

Installs what is missing, checks types and format, lints, builds, and runs test files, several abreast.
The last line is "N passed, N failed[, N skipped]"; the exit code is 0 if nothing failed, 1 if something did, 2 if it was called the wrong way.

Arguments:
  path            a test file, or a folder of them (default: test)

Options:
  --changed       only what the changes since main can reach, committed or not; says what that is and why
  --skip-checks   leave out the types and the linter: build, then run the files
  --measure       write how long each file took to test/run/times.json, by which later runs are ordered
  -h, --help      print help

Examples:
  npm test -- test/api/chat.test.ts
  npm test -- --skip-checks test/api/chat.test.ts
  npm test -- --changed
`;

const tool = (...path) => join(root, 'node_modules', ...path);
const print = (text) => process.stdout.write(`${text}\n`);
const counts = { passed: 0, failed: 0, skipped: 0 };

/** Runs a step, prints its time, and reports a `PrepareError` as a failure. */
async function step(name, run) {
  const started = performance.now();
  try {
    await run();
    print(`ok ${name} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    counts.failed++;
    print(`not ok ${name}: ${error.message}`);
  }
}

/**
 * The compiler and the linter are written in Go: their threads repeat much of each other's checks, and frequent garbage
 * collection costs more than it saves.
 */
const oneThread = { GOMAXPROCS: '1', GOGC: '400' };

/** Prints the tool's output at its end, in one piece, since another tool runs beside it. */
async function runTool(script, args) {
  const child = spawn(process.execPath, [script, ...args], {
    cwd: root,
    env: { ...process.env, ...oneThread },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, [code]] = await Promise.all([textOf(child), once(child, 'close')]);
  process.stdout.write(said);
  if (code !== 0) throw new PrepareError('see above.');
}

async function textOf({ stdout, stderr }) {
  const texts = await Promise.all([text(stdout), text(stderr)]);
  return texts.join('');
}

const typesOf = (project, ...more) =>
  runTool(tool('typescript', 'bin', 'tsc'), ['--singleThreaded', '-p', project, ...more]);

/** The compiler's record of each file's hash and errors: a run checks the files that a change can reach. */
const earlier = ['--incremental', '--tsBuildInfoFile', join(root, 'dist', 'types.tsbuildinfo')];

async function checkTypes() {
  await step('types', () => typesOf('.', ...earlier));
  await step('types of the pages', () => typesOf('src/pages/console'));
  await step("types of the link's page", () => typesOf('src/pages/link'));
}

const lint = () =>
  step('lint', () =>
    runTool(tool('oxlint', 'bin', 'oxlint'), ['--threads=1', '--format=unix', 'src', 'machines', 'test', 'bench']),
  );

const checkFormat = () =>
  step('format', () =>
    runTool(tool('oxfmt', 'bin', 'oxfmt'), ['--threads=1', '--list-different', 'src', 'machines', 'test', 'bench']),
  );

/** Installs the programs of others that the files name; reports which are missing, whose tests are skipped. */
async function addPrograms(files, inputs) {
  const { installed, lacking } = await installPrograms(programsOf(files, inputs));
  for (const [how, programs] of Object.entries({ installed, 'not installed, so their tests are skipped': lacking }))
    if (programs.length > 0) print(`programs: ${how}: ${programs.join(', ')}`);
}

/** Builds what the tests run, and returns the jobs. */
async function prepare() {
  await step('build', build);
  await step('client', buildClient);
  let files = [];
  await step('files', async () => {
    files = [...new Set((positionals.length > 0 ? positionals : ['test']).flatMap(filesOf))];
    if (values.changed) files = await ofChanges(files);
  });
  if (files.length === 0) return [];
  let bundles = null;
  await step('bundles', async () => (bundles = await bundleWithInputs(files)));
  if (bundles === null) return [];
  await step('programs', () => addPrograms(files, bundles.inputs));
  return jobsOf(files, bundles);
}

/** Runs the jobs; of each what failed or was skipped, and one line. */
async function runTests(jobs, measure, { cpu }) {
  const { runFile } = await import('./run/file.mjs');
  const minutes = Math.ceil(secondsOf(jobs, cpu) / 60);
  if (minutes > 1) print(`${jobs.length} jobs: about ${minutes} min`);
  const taken = {};
  const idleCores = await runAll(
    jobs,
    async (job) => {
      const { lines, seconds, cpuSeconds, ...of } = await runFile(job);
      for (const key of Object.keys(counts)) counts[key] += of[key];
      for (const line of lines) print(line);
      const told = Object.entries(of)
        .filter(([key, count]) => count > 0 || key === 'passed')
        .map(([key, count]) => `${count} ${key}`);
      const cpu = cpuSeconds === null ? [] : [`CPU ${cpuSeconds.toFixed(1)} s`];
      print(
        `${of.failed > 0 ? 'not ok' : 'ok'} ${job.name} (${[...told, `${seconds.toFixed(1)} s`, ...cpu].join(', ')})`,
      );
      if (of.failed === 0) taken[job.name] = [seconds, cpuSeconds ?? seconds];
      return cpuSeconds;
    },
    { slowness: cpu },
  );
  if (idleCores !== null) print(`cores: ${idleCores.toFixed(2)} of ${availableParallelism()} idle on average`);
  if (measure) keepTimes(taken, jobs, { isWhole: positionals.length === 0 && !values.changed });
}

/** Returns the files that a change since main can reach; prints which, and why. */
async function ofChanges(files) {
  const { changedFiles, reachedBy, readUses } = await import('./run/changed.mjs');
  const { base, files: changed } = changedFiles();
  if (changed.length === 0) print(`changed: nothing since ${base}`);
  const { reached, idle } = reachedBy(changed, files, await readUses());
  for (const path of idle) print(`changed: ${path}, which no test names`);
  for (const why of new Set(reached.values()))
    print(
      `changed: ${why} reaches ${[...reached]
        .filter(([, by]) => by === why)
        .map(([file]) => file)
        .join(' ')}`,
    );
  return [...reached.keys()];
}

function readArguments() {
  try {
    const options = {
      changed: { type: 'boolean' },
      'skip-checks': { type: 'boolean' },
      measure: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    };
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    const [said] = error.message.split('. ');
    const more =
      error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? '. The options are --changed, --skip-checks, --measure' : '';
    process.stderr.write(`npm test: ${said[0].toLowerCase()}${said.slice(1)}${more}; --help tells more.\n`);
    return process.exit(2);
  }
}

const { values, positionals } = readArguments();
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

await step('packages', async () => {
  checkNode();
  await install({ development: true });
});
if (counts.failed === 0) {
  const speed = measureSpeed();
  process.env[slownessVariable] = String(speed.wall);
  print(`speed: deadlines × ${speed.wall.toFixed(1)}, CPU time × ${speed.cpu.toFixed(1)} (test/run/speed.mjs)`);
  // The types take one core, and as long as the linter without a record of an earlier run.
  const checks = values['skip-checks'] ? [] : [checkTypes(), lint(), checkFormat()];
  const [jobs] = await Promise.all([prepare(), ...checks]);
  await runTests(jobs, values.measure, speed);
}
print(`${counts.passed} passed, ${counts.failed} failed${counts.skipped > 0 ? `, ${counts.skipped} skipped` : ''}`);
process.exitCode = counts.failed > 0 ? 1 : 0;
