/** Runs one test file in a separate process and parses its stdout, TAP. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Parser } from 'tap-parser';
import { bundleUrl, root } from '../../src/install/prepare.mjs';
import { inSource } from '../bundle.mjs';
import { measureSpeed, slowness } from './speed.mjs';

/** Sizes that somebody asks for by hand, which take as long as they take. */
const sizes = ['PARLEY_LIVES', 'PARLEY_CLIENT_CUTS', 'PARLEY_CONSOLE_SESSIONS', 'PARLEY_RUNTIMES'];

/** Seconds on the reference (speed.mjs) after which a file counts as hung. */
const fileSeconds = sizes.some((name) => process.env[name] !== undefined) ? 24 * 3600 : 900;

/**
 * Resolves when a file has run for its time, which is as long as the machine was slow when the run began, or is at the
 * end of that time.
 */
async function timeIsOver(signal) {
  for (let waited = 0, due = fileSeconds * slowness(); due > waited; due = fileSeconds * measureSpeed().wall) {
    await delay((due - waited) * 1000, undefined, { signal });
    waited = due;
  }
}

const bounds = {
  over: timeIsOver,
  /**
   * Seconds for which a file that has exceeded its time may report what did not end, before it is killed: it may not
   * even notice.
   */
  graceSeconds: 30,
  stderr: 'inherit',
};

/**
 * A function runs for seven times as long as by default before V8 compiles it for speed: most of a test file's never
 * run for long enough to pay that back. Later versions have a cheaper compiler before that one, and no such flag.
 */
const compilesLate = Number.parseInt(process.versions.v8) < 12 ? ['--interrupt-budget=500000'] : [];

/** Garbage is collected seldom, and by one thread: the other core has another file to run. */
const collectsSeldom = ['--min-semi-space-size=16', '--single-threaded-gc'];

/**
 * Resolves with the result of a job: `{ passed, failed, skipped, lines, seconds, cpuSeconds }`. The lines name what
 * failed or was skipped.
 *
 * @param {{ name: string, bundle: string, env: Record<string, string>, files?: readonly string[] }} job of several
 * files, if it names them
 */
export async function runFile({ name, bundle, env, files }, { over, graceSeconds, stderr } = bounds) {
  const started = performance.now();
  const child = spawn(process.execPath, ['--enable-source-maps', ...compilesLate, ...collectsSeldom, bundle], {
    cwd: root,
    env: { ...process.env, ...env, PARLEY_TEST_COMMAND: fileURLToPath(bundleUrl), TAP_TIMEOUT: '0' },
    stdio: ['ignore', 'pipe', stderr],
  });
  const report = new Report(name, files, env);
  const parser = report.parser(stderr === 'inherit' ? (text) => process.stderr.write(text) : () => {});
  child.stdout.pipe(parser);
  const complete = new Promise((resolve) => parser.once('complete', resolve));
  const exited = new Promise((resolve) =>
    child.once('exit', (code, signal) => resolve({ how: signal ?? code, cpuSeconds: reaped() })),
  );
  const ended = new AbortController();
  void endLate(child, over, graceSeconds, ended.signal).catch(() => {});
  const [results, { how, cpuSeconds }] = await Promise.all([complete, exited]);
  ended.abort();
  report.end(results, how);
  return { ...report.counts, lines: report.lines, seconds: (performance.now() - started) / 1000, cpuSeconds };
}

/** Ends a child that has exceeded its time: tap then names what did not end. */
async function endLate(child, over, graceSeconds, signal) {
  await over(signal);
  child.kill('SIGALRM');
  await delay(graceSeconds * slowness() * 1000, undefined, { signal });
  child.kill('SIGKILL');
}

const noAssertion = 'it made no assertion';

class Report {
  counts = { passed: 0, failed: 0, skipped: 0 };
  lines = [];
  #name;
  #files;
  #env;

  /**
   * A job of several files has a test for each, by its name. Run alone, a file may have another engine: their
   * environment is printed with what failed.
   */
  constructor(name, files, env) {
    this.#name = name;
    this.#files = files;
    this.#env = files
      ? Object.entries(env)
          .map(([name, value]) => `\n    ${name}=${value}`)
          .join('')
      : '';
  }

  /** `extra` gets the file's output beside its report. */
  parser(extra) {
    const parser = new Parser();
    parser.on('result', (result) => this.#result(result));
    parser.on('extra', extra);
    return parser;
  }

  #result({ fullname, ok, skip, todo, diag }) {
    const name = this.#files ? fullname : `${this.#name} > ${fullname}`;
    const isEmpty = ok && this.#files?.includes(fullname);
    if (isEmpty) this.#fail(name, details({ why: noAssertion }));
    else if (skip || todo) this.#skipped(name, skip || todo);
    else if (ok) this.counts.passed++;
    else this.#fail(name, details(diag ?? {}));
  }

  /** Reports failures that belong to no assertion: an end by a signal, a plan that was not kept, no output at all. */
  end({ plan, failures }, how) {
    if (this.counts.failed > 0) return;
    const why = failures.find(({ tapError }) => tapError)?.tapError;
    if (how !== 0) this.#fail(this.#name, details({ why: `it ended with ${how}` }));
    else if (why) this.#fail(this.#name, details({ why }));
    else if (plan.skipAll && plan.comment !== 'no tests found') this.#skipped(this.#name, plan.comment);
    else if (plan.skipAll) this.#fail(this.#name, details({ why: noAssertion }));
  }

  #skipped(name, why) {
    this.counts.skipped++;
    this.lines.push(`skipped ${name}: ${why}`);
  }

  #fail(name, text) {
    this.counts.failed++;
    this.lines.push(`not ok ${name}${text}${this.#env}`);
  }
}

function details(diagnosis) {
  const lines = Object.entries(diagnosis).flatMap(([key, value]) => {
    const text = inSource(typeof value === 'string' ? value.trimEnd() : (JSON.stringify(value) ?? 'undefined'));
    return text.includes('\n') ? [`${key}:`, ...text.split('\n').map((line) => `  ${line}`)] : [`${key}: ${text}`];
  });
  return lines.map((line) => `\n    ${line}`).join('');
}

let counted = 0;

/**
 * Seconds of CPU time of the processes that ended since the last look, with all that they waited for; null where the
 * system does not say.
 */
function reaped() {
  const before = counted;
  counted = cpuOfChildren();
  return counted === null ? null : counted - before;
}

/** Linux counts it in hundredths, behind the name of the program, which may hold anything. */
function cpuOfChildren() {
  try {
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    return (Number(fields[13]) + Number(fields[14])) / 100;
  } catch {
    return null;
  }
}

reaped();
