/** The command, within the test's process or in a separate one, and a server that answers as the contract says. */
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { finished as streamEnd } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { signalChild } from '../../src/base/signals.ts';
import { runCommand } from '../../src/cli/command.ts';
import type { Environment, Io } from '../../src/cli/io.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export const operatorToken = 'operator-token-of-the-test';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs: in this process (`begin`), or in a separate one (`start`). */
export interface Running {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  kill(signal: 'SIGINT' | 'SIGTERM'): void;
  readonly finished: Promise<Finished>;
  /** Resolves once stdout and stderr together hold the text. */
  printed(text: string): Promise<void>;
}

export interface RunOptions {
  readonly env?: Environment;
  /** All of stdin; without it stdin stays open and silent. */
  readonly input?: string;
}

/** `terminal`: whether stdout is one; `keyboard`: whether stdin is one. */
interface InnerOptions extends RunOptions {
  readonly terminal?: boolean;
  readonly keyboard?: boolean;
}

/** The process as the command sees it, within this one. */
class InnerProcess extends EventEmitter implements Io {
  readonly env: Environment;
  readonly stdin: PassThrough & { readonly isTTY: boolean };
  readonly stdout: PassThrough & { readonly isTTY: boolean };
  readonly stderr = new PassThrough();
  exitCode?: number;
  /** The first call ends it; the process would be gone. */
  readonly exit: (code: number) => void;
  readonly exited: Promise<number>;

  constructor({ env = {}, terminal = false, keyboard = false }: InnerOptions) {
    super();
    this.env = env;
    this.stdin = Object.assign(new PassThrough(), { isTTY: keyboard });
    this.stdout = Object.assign(new PassThrough(), { isTTY: terminal });
    let exit: (code: number) => void;
    this.exited = new Promise((resolve) => (exit = resolve));
    this.exit = exit!;
  }
}

/** Begins `parley` within this process, with the signals that it listens to. It ends with the test. */
export function begin(t: Test, args: readonly string[], options?: InnerOptions): Running {
  const command = within(args, options);
  t.teardown(() => command.kill('SIGTERM'));
  return command;
}

export const run = (args: readonly string[], options?: InnerOptions): Promise<Finished> =>
  within(args, options).finished;

function within(args: readonly string[], options: InnerOptions = {}): Running {
  const io = new InnerProcess(options);
  const { input } = options;
  if (input !== undefined) io.stdin.end(input);
  const ended = Promise.race([io.exited, runCommand(args, io).then(() => io.exitCode ?? 0)]).then(async (code) => {
    await Promise.all([streamEnd(io.stdout.end()), streamEnd(io.stderr.end())]);
    return code;
  });
  return running(io, ended, (signal) => void (io.emit(signal) || io.exit(1)));
}

/** Starts `parley` as it was built, in a separate process with a clean environment. */
export function start(
  t: Test,
  args: readonly string[],
  { env = {}, input, cwd = root }: RunOptions & { readonly cwd?: string } = {},
): Running {
  const clean = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, NODE_V8_COVERAGE: '' };
  const child = spawn(process.execPath, [`${root}src/install/start.mjs`, ...args], { cwd, env: { ...clean, ...env } });
  t.teardown(() => signalChild(child, 'SIGKILL'));
  if (input !== undefined) child.stdin.end(input);
  const ended = once(child, 'close').then(([code]) => code as number | null);
  return running(child, ended, (signal) => signalChild(child, signal));
}

function running(
  streams: { readonly stdin: Writable; readonly stdout: Readable; readonly stderr: Readable },
  ended: Promise<number | null>,
  kill: Running['kill'],
): Running {
  const texts = { stdout: '', stderr: '' };
  const waiting = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name].setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text;
      for (const look of waiting) look();
    });
  }
  const finished = ended.then((code) => ({ code, ...texts }));
  const printed = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!(texts.stdout + texts.stderr).includes(text)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
      void finished.then(() =>
        reject(new Error(`The command ended without printing "${text}": ${texts.stdout}${texts.stderr}`)),
      );
    });
  return { stdin: streams.stdin, stdout: streams.stdout, stderr: streams.stderr, kill, finished, printed };
}

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/**
 * Answers one route; its return value is sent as JSON with 200, or 201 to a POST; undefined: it has answered by itself.
 */
export type Route = (request: Received, response: ServerResponse) => unknown;

export interface FakeServer {
  readonly url: string;
  /** Every request so far. */
  readonly received: Received[];
  /** The requests so far as `METHOD path`. */
  lines(): string[];
  /** Arguments and environment that lead to it. */
  readonly env: Readonly<Record<string, string>>;
}

/** A server with the routes given, by `METHOD /path`; anything else is `route_not_found`. */
export async function fakeServer(t: Test, routes: Readonly<Record<string, Route>>): Promise<FakeServer> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const url = new URL(request.url!, 'http://server');
      const one: Received = {
        method: request.method!,
        path: url.pathname,
        query: Object.fromEntries(url.searchParams),
        headers: request.headers,
        body,
      };
      received.push(one);
      const route = routes[`${one.method} ${one.path}`];
      if (!route)
        return fail(
          response,
          404,
          'not_found',
          'route_not_found',
          'No such path, or the path does not have this method.',
        );
      const answer = route(one, response);
      if (answer !== undefined) sendJson(response, one.method === 'POST' ? 201 : 200, answer);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const lines = () => received.map((one) => `${one.method} ${one.path}`);
  return { url, received, lines, env: { PARLEY_URL: url, PARLEY_OPERATOR_TOKEN: operatorToken } };
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_test', ...headers });
  response.end(JSON.stringify(body));
}

export const fail = (
  response: ServerResponse,
  status: number,
  type: string,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): void => sendJson(response, status, { error: { type, code, message }, request_id: 'req_test' }, headers);

/** An answer without a body. */
export const empty = (response: ServerResponse): undefined => void response.writeHead(204).end();

export const list = (...data: unknown[]) => ({ object: 'list', data, has_more: false, next_cursor: null });

export const id = (prefix: string, letter: string): string => `${prefix}_${letter.repeat(26)}`;

export const workspace = {
  id: id('wks', 'a'),
  object: 'workspace',
  name: 'default',
  retention_days: 30,
  turns_in_flight_max: 10,
  created_at: 1767225600,
  updated_at: 1767225600,
};

export const assistant = {
  id: id('asst', 'a'),
  object: 'assistant',
  name: 'demo',
  description: null,
  status: 'published',
  greeting: 'Hello, I am demo.',
  channels: { voice: false, link: false, widget: false },
  visitor_fields: [] as unknown[],
  max_call_seconds: 3600,
  version: 1,
  created_at: 1767225600,
  updated_at: 1767225600,
};

export const consoleAssistant = {
  ...assistant,
  draft: { digest: 'a'.repeat(27), changed: false },
  candidate: null,
  session_policy: 'pin',
  desk: {
    enabled: true,
    wait_seconds: 120,
    while_waiting: 'assistant',
    texts: { waiting: null, joined: null, left: null, nobody: null },
  },
  model: {
    provider: 'scripted',
    name: 'scripted',
    credential_id: null,
    system_prompt: 'Be kind.\nBe brief.',
    temperature: null,
    output_tokens_max: null,
    reasoning: 'hidden',
  },
  voice: null,
  link: null,
};

/** The path of the workspace's records, and the routes that list the workspace and its assistant. */
export const inWorkspace = `/console/api/workspaces/${workspace.id}`;
export const workspaceRoutes: Record<string, Route> = { 'GET /console/api/workspaces': () => list(workspace) };
export const assistantRoutes: Record<string, Route> = {
  [`GET ${inWorkspace}/assistants`]: () => list(consoleAssistant),
};

export const key = {
  id: id('key', 'a'),
  object: 'key',
  name: 'shop',
  hint: 'abc',
  status: 'active',
  assistant_ids: null as string[] | null,
  limits: { requests: 60, speech: 30, transcription_tokens: 10 },
  created_at: 1767225600,
  expires_at: null as number | null,
  revoked_at: null,
};

export const session = {
  id: id('ses', 'a'),
  object: 'session',
  assistant_id: assistant.id,
  status: 'open',
  active_turn_id: null as string | null,
  channel: 'api',
  visitor: { email: 'ada@example.com' },
  metadata: {},
  max_call_seconds: 3600,
  created_at: 1767225600,
  expires_at: 1767229200,
  ended_at: null,
};
