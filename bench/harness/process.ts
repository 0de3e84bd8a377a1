/**
 * A process under test, or beside one: pinned to a core, its CPU time and memory as the operating system counts them.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { signalChild } from '../../src/base/signals.ts';

/** Core of a process: the server alone on one; load, upstream and databases on the other. */
export type Place = 'server' | 'load';

const cores: Readonly<Record<Place, number>> = { server: 0, load: 1 };
const canPin = (): boolean => availableParallelism() >= 2 && spawnSync('taskset', ['-c', '0,1', 'true']).status === 0;

/**
 * Processes are pinned once the load has taken its place; a run that measures nothing leaves them where the system puts
 * them.
 */
let pinned = false;

/** Returns the placement of the processes in words, for the result. */
export const placement = (): string =>
  pinned ? 'server on core 0; load, upstream and Redis on core 1' : 'not pinned: taskset or a second core is missing';

/** Returns why nothing can be measured here, or null. */
export const whyNoMeasure = (): string | null =>
  existsSync('/proc/self/stat')
    ? null
    : 'the CPU time of other processes is read from /proc, which this system has not';

/** Ends the processes started when a signal ends this one. */
export function endOnSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
}

/** Moves this process, which is the load, to its core. */
export function takePlace(): void {
  pinned = canPin();
  if (pinned) execFileSync('taskset', ['-a', '-p', '-c', String(cores.load), String(process.pid)], { stdio: 'ignore' });
}

/** Moves processes that another one has started to the core of a place. */
export function move(pids: readonly number[], place: Place): void {
  if (pinned)
    for (const pid of pids)
      spawnSync('taskset', ['-a', '-p', '-c', String(cores[place]), String(pid)], { stdio: 'ignore' });
}

/** The scheduler's niceness of processes; where it is not permitted, they keep theirs. */
export function setNiceness(pids: readonly number[], niceness: number): void {
  for (const pid of pids) {
    try {
      setPriority(pid, niceness);
    } catch {
      return;
    }
  }
}

export interface Command {
  readonly place: Place;
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /**
   * True for a Node process: the probe is loaded into it, and it reports its port with `process.send` unless it is
   * given one.
   */
  readonly node?: boolean;
  /** True if its standard input is written to, and the lines of its output are read. */
  readonly piped?: boolean;
}

const probe = fileURLToPath(new URL('./probe.mjs', import.meta.url));
const running = new Set<Process>();
// nginx ends its workers only when it is asked to end.
process.once('exit', () => running.forEach((one) => signalChild(one.child, 'SIGTERM')));

export class Process {
  readonly child: ChildProcess;
  readonly ended: Promise<string>;
  #stderr = '';
  #output = '';
  #onOutput: () => void = () => {};

  constructor({ place, program, args, env = {}, cwd, node = false, piped = false }: Command) {
    const line = node ? ['--expose-gc', `--import=${probe}`, ...args] : args;
    const [file, words] = pinned ? ['taskset', ['-c', String(cores[place]), program, ...line]] : [program, line];
    const { PATH, HOME, TMPDIR } = process.env;
    this.child = spawn(file, words, {
      cwd,
      env: { PATH, HOME, TMPDIR, NODE_ENV: 'production', ...env },
      // The output, logs included, goes to /dev/null, as it would to a pipe that costs the server the same writes.
      stdio: [piped ? 'pipe' : 'ignore', piped ? 'pipe' : 'ignore', 'pipe', ...(node ? (['ipc'] as const) : [])],
    });
    this.child
      .stderr!.setEncoding('utf8')
      .on('data', (text: string) => (this.#stderr = (this.#stderr + text).slice(-4000)));
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      if (text.includes('\n')) this.#onOutput();
    });
    // A write to a process that has ended fails here; the caller learns of it from its next read.
    this.child.stdin?.on('error', () => {});
    this.ended = once(this.child, 'close').then(
      ([code, signal]) => `${program} ${args[0] ?? ''} ended with ${code ?? signal}.\n${this.#stderr}`,
    );
    running.add(this);
    void this.ended.then(() => running.delete(this));
  }

  /** Resolves with the next message on the process's channel; rejects if the process ends before. */
  async told<T>(): Promise<T> {
    const message = once(this.child, 'message').then(([value]) => value as T);
    return Promise.race([message, this.ended.then((why) => Promise.reject(new Error(why)))]);
  }

  /** Resolves with the next line of its output, for one reader at a time; rejects if it ends before. */
  async line(): Promise<string> {
    let ended: string | null = null;
    void this.ended.then((why) => {
      ended = why;
      this.#onOutput();
    });
    for (let at = this.#output.indexOf('\n'); ; at = this.#output.indexOf('\n')) {
      if (at >= 0) {
        const line = this.#output.slice(0, at);
        this.#output = this.#output.slice(at + 1);
        return line;
      }
      if (ended !== null) throw new Error(ended);
      await new Promise<void>((resolve) => (this.#onOutput = resolve));
    }
  }

  async heapBytes(): Promise<number> {
    const told = this.told<{ heapBytes: number }>();
    this.child.send('heap');
    return (await told).heapBytes;
  }

  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) signalChild(this.child, signal);
    await this.ended;
  }
}

const ticksPerSecond = Number(spawnSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }).stdout || 100);

/** The process and all that descend from it. */
function family(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return [
      pid,
      ...children
        .split(' ')
        .filter(Boolean)
        .flatMap((child) => family(Number(child))),
    ];
  } catch {
    return [];
  }
}

/** Returns the running descendants of a process. */
export const childrenOf = ({ pid }: { readonly pid?: number | undefined }): number[] => family(pid!).slice(1);

/** User and system time so far in microseconds: threads, living children and those waited for included. */
export const cpuMicroseconds = (processes: readonly Process[]): number =>
  cpuMicrosecondsOf(processes.flatMap(({ child }) => family(child.pid!)));

export function cpuMicrosecondsOf(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name, in parentheses, may hold anything. Behind it: state is field 3, utime to cstime are 14 to 17.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    for (const field of [14, 15, 16, 17]) ticks += Number(fields[field - 3]);
  }
  return (ticks / ticksPerSecond) * 1e6;
}

/** Memory that is resident now, files mapped into it included; none of a process that has ended. */
export const residentBytes = (processes: readonly Pick<Process, 'child'>[]): number =>
  residentBytesOf(processes.flatMap(({ child }) => family(child.pid!)));

export function residentBytesOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + Number(/VmRSS:\s+(\d+)/.exec(statusOf(pid))?.[1] ?? 0) * 1024, 0);
}

function statusOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return '';
  }
}

/** Whether this process could listen on a port of 127.0.0.1 now. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listening = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
  });
  if (listening) await new Promise((resolve) => void server.close(resolve));
  return listening;
}

/**
 * A port that is free now, as is the one `above` it. Both lie below the ports that Linux gives to outgoing connections
 * (from 32,768): a connection of another process would take one of those before a server listens.
 */
export async function freePort(above = 0): Promise<number> {
  for (;;) {
    const port = randomInt(11_000, 22_000);
    if ((await isFree(port)) && (await isFree(port + above))) return port;
  }
}

/** Waits until `GET path` on the port is answered with 2xx; rejects when the process ends before. */
export async function untilReady(port: number, path: string, process: Process): Promise<void> {
  let ended: string | null = null;
  void process.ended.then((why) => (ended = why));
  for (;;) {
    if (ended !== null) throw new Error(ended);
    const answered = await fetch(`http://127.0.0.1:${port}${path}`).then(
      (response) => response.ok,
      () => false,
    );
    if (answered) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
