/** Requests that `fetch` would not send: headers twice, paths as they stand, bodies of any bytes. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { ask as askPort, RawClient } from '../http/edge/harness.ts';
import type { Answer } from './house.ts';

export interface RawAsk {
  readonly method?: string;
  /** A name with several values is sent as several lines. */
  readonly headers?: Record<string, string | string[]>;
  readonly body?: string | Uint8Array;
}

export async function rawAsk(url: string, path: string, options: RawAsk = {}): Promise<Answer> {
  const { status, headers, text } = await askPort(Number(new URL(url).port), { path, ...options });
  const isJson = headers['content-type']?.startsWith('application/json') === true && text !== '';
  const pairs = Object.entries(headers).flatMap(([name, values]) =>
    [values ?? []].flat().map((value): [string, string] => [name, value]),
  );
  return { status, headers: new Headers(pairs), text, json: isJson ? JSON.parse(text) : undefined };
}

/** Resolves with the HTTP answer to an upgrade that is refused. */
export async function refusedUpgrade(
  url: string,
  path: string,
  {
    token = null,
    protocols = [],
    headers: sent = {},
  }: { token?: string | null; protocols?: readonly string[]; headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const socket = new WebSocket(url.replace('http', 'ws') + path, [...protocols], {
    headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...sent },
  });
  socket.on('error', () => {});
  const opened = once(socket, 'open').then(() => {
    socket.terminate();
    throw new Error(`The server accepted the upgrade of ${path}.`);
  });
  const refused = once(socket, 'unexpected-response');
  const [, response] = (await Promise.race([refused, opened])) as [unknown, IncomingMessage];
  let text = '';
  for await (const piece of response) text += piece;
  const headers = new Headers(
    Object.entries(response.headers).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return { status: response.statusCode!, headers, text, json: JSON.parse(text) };
}

/** Sends one request on a new connection; returns every byte of the answer, as Latin-1. The body is ASCII text. */
export async function answerBytes(
  url: string,
  path: string,
  { method = 'GET', headers = {}, body = '' }: { method?: string; headers?: Record<string, string>; body?: string },
): Promise<string> {
  const client = new RawClient(Number(new URL(url).port));
  const lines = Object.entries({
    Host: 'x',
    Connection: 'close',
    ...(body === '' ? {} : { 'Content-Length': String(body.length) }),
    ...headers,
  });
  await client.send(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`,
  );
  await client.closed;
  return client.text;
}
