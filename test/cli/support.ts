/** The command as a process, and a server that answers as the contract says. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const root = fileURLToPath(new URL('../..', import.meta.url));

export const operatorToken = 'operator-token-of-the-test';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly finished: Promise<Finished>;
  /** Resolves once stdout and stderr together hold the text. */
  printed(text: string): Promise<void>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly cwd?: string;
}

/** Starts `parley`, as it was built, with a clean environment. Without `input` its stdin stays open and silent. */
export function start(t: Test, args: readonly string[], { env = {}, input, cwd = root }: RunOptions = {}): Running {
  const clean = { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, NODE_V8_COVERAGE: '' };
  const child = spawn(process.execPath, [`${root}src/start.mjs`, ...args], { cwd, env: { ...clean, ...env } });
  t.teardown(() => child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  const waiting = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const look of waiting) look();
  });
  if (input !== undefined) child.stdin.end(input);
  const finished = once(child, 'close').then(([code]) => ({ code: code as number | null, stdout, stderr }));
  const printed = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!(stdout + stderr).includes(text)) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
      void finished.then(() => reject(new Error(`The command ended without printing "${text}": ${stdout}${stderr}`)));
    });
  return { child, finished, printed };
}

export const run = (t: Test, args: readonly string[], options?: RunOptions): Promise<Finished> => start(t, args, options).finished;

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

/** Answers one route; what it returns is sent as JSON with 200, or 201 to a POST; undefined: it has answered by itself. */
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
      const one: Received = { method: request.method!, path: url.pathname, query: Object.fromEntries(url.searchParams), headers: request.headers, body };
      received.push(one);
      const route = routes[`${one.method} ${one.path}`];
      if (!route) return fail(response, 404, 'not_found', 'route_not_found', 'No such path, or the path does not have this method.');
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

export function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_test', ...headers });
  response.end(JSON.stringify(body));
}

export const fail = (response: ServerResponse, status: number, type: string, code: string, message: string, headers: Record<string, string> = {}): void =>
  sendJson(response, status, { error: { type, code, message }, request_id: 'req_test' }, headers);

/** An answer without a body. */
export const empty = (response: ServerResponse): undefined => void response.writeHead(204).end();

export const list = (...data: unknown[]) => ({ object: 'list', data, has_more: false, next_cursor: null });

export const id = (prefix: string, letter: string): string => `${prefix}_${letter.repeat(26)}`;

export const workspace = { id: id('wks', 'a'), object: 'workspace', name: 'default', retention_days: 30, turns_in_flight_max: 10, created_at: 1767225600, updated_at: 1767225600 };

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
  created_at: 1767225600,
  updated_at: 1767225600,
};

export const consoleAssistant = {
  ...assistant,
  model: { provider: 'scripted', name: 'scripted', credential_id: null, system_prompt: 'Be kind.\nBe brief.', temperature: null, output_tokens_max: null },
  voice: null,
  link: null,
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
