/** The server as a separate process, as `npm start` runs it, for tests over HTTP and for tests that kill it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import manifest from '../package.json' with { type: 'json' };
import { signalChild } from '../src/base/signals.ts';
import { temporaryFolder, type Owner } from './folders.ts';

export interface ServerOptions {
  /** Settings beside PORT (0) and PARLEY_OPERATOR_TOKEN. Nothing else comes from the test's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments after `serve`. */
  readonly args?: readonly string[];
  /** With several processes only the first ends with the test; the others notice by themselves. */
  readonly workersAlone?: boolean;
  /** The command of another clone, instead of this one's. */
  readonly command?: string;
  /** Another Node than this one, as a path. */
  readonly node?: string;
  /** Options of Node that come before the flags of `npm start`. */
  readonly nodeWords?: readonly string[];
  /**
   * The words of a program that runs the server, such as one that makes a container; all of it is to end with the
   * server.
   */
  readonly within?: readonly string[];
  /** Called with all that it prints, also before it listens. */
  readonly onOutput?: (text: string, child: ChildProcess) => void;
  /** Maximum number of open descriptors, by default as many as this process. */
  readonly descriptors?: number;
  /**
   * Working folder, and so the place of `./data`; give the same one again to start again on what is stored. By default
   * a new one.
   */
  readonly folder?: string;
}

/** End of a process: one of the two is null. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Server {
  /** `http://127.0.0.1:PORT`, without a slash at its end. */
  readonly url: string;
  /** The API key that an empty store is given; null where the store was not empty. */
  readonly key: string | null;
  readonly operatorToken: string;
  readonly folder: string;
  /** Identifies its API: servers of one program serve one document. */
  readonly program: string;
  readonly child: ChildProcess;
  /** Resolves when the process has ended and all that it printed is here. */
  readonly ended: Promise<Ended>;
  stdout(): string;
  stderr(): string;
  kill(signal: NodeJS.Signals): Promise<Ended>;
  /** SIGTERM: the server drains and ends with code 0. */
  stop(): Promise<Ended>;
}

/**
 * `npm test` has built the command, and names it: to look for newer sources costs each start a tenth of its CPU time.
 */
const start = process.env['PARLEY_TEST_COMMAND'] ?? fileURLToPath(new URL('../src/install/start.mjs', import.meta.url));

/** The flags of `npm start`. */
const flags = manifest.scripts.start.split(' ').filter((word) => word.startsWith('--'));

/**
 * Loaded into the server before its own code: it ends the server when its stdin does, so that none outlives a test that
 * was itself killed and could tear nothing down.
 */
const leash = (condition: string): string =>
  `data:text/javascript,${encodeURIComponent(`if (${condition}) process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume().unref();`)}`;

/**
 * Starts a server and resolves when it listens; rejects with its output if it ends before. It is killed at the test's
 * end.
 */
export async function startServer(
  t: Owner,
  {
    env = {},
    args = [],
    folder,
    workersAlone = false,
    command = start,
    node = process.execPath,
    nodeWords = [],
    within = [],
    onOutput,
    descriptors,
  }: ServerOptions = {},
): Promise<Server> {
  const cwd = folder ?? (await temporaryFolder(t));
  const operatorToken = env['PARLEY_OPERATOR_TOKEN'] ?? 'operator-token-of-the-tests';
  const { PATH, HOME, TMPDIR } = process.env;
  const limited = descriptors === undefined ? [] : ['sh', '-c', `ulimit -n ${descriptors}; exec "$0" "$@"`];
  const [program, ...rest] = [
    ...within,
    ...limited,
    node,
    ...nodeWords,
    ...flags,
    `--import=${leash(workersAlone ? '!process.connected' : 'true')}`,
    command,
    'serve',
    ...args,
  ] as const;
  const child = spawn(program!, rest, {
    cwd,
    env: { PATH, HOME, TMPDIR, PORT: '0', PARLEY_OPERATOR_TOKEN: operatorToken, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close').then(([code, signal]): Ended => ({ code, signal }));
  const kill = (signal: NodeJS.Signals): Promise<Ended> => {
    signalChild(child, signal);
    return ended;
  };
  t.teardown(() => kill('SIGKILL'));

  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text: unknown) => onOutput?.(String(text), child));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      const found = /http:\/\/[\w.[\]:]+:\d+/.exec(stdout);
      if (found !== null) resolve(found[0]);
    });
    ended.then(
      ({ code, signal }) =>
        reject(new Error(`The server ended with ${code ?? signal} before it listened.\n${stdout}${stderr}`)),
      reject,
    );
  });
  const key = /\bak_\w+/.exec(stdout)?.[0] ?? null;
  return {
    url,
    key,
    operatorToken,
    folder: cwd,
    program: JSON.stringify([command, args, env['PARLEY_MANAGEMENT_PORT']]),
    child,
    ended,
    stdout: () => stdout,
    stderr: () => stderr,
    kill,
    stop: () => kill('SIGTERM'),
  };
}
