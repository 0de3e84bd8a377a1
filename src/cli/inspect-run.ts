/** Runs `parley inspect`: reads the feed of live actors and writes it on, as lines or to Stately's receivers. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { operatorToken, serverUrl, type ConnectionOptions } from './connection.ts';
import { ConsoleClient } from './console-client.ts';
import { CommandFailure, UsageFailure } from './exit.ts';
import type { Io } from './io.ts';
import { print } from './output.ts';
import { messageOfThrown } from '../base/thrown.ts';

export interface InspectOptions extends ConnectionOptions {
  readonly stately?: boolean;
  readonly kind?: string;
  readonly id?: string;
  readonly port?: number;
  readonly origin?: readonly string[];
}

export async function inspect(io: Io, options: InspectOptions): Promise<void> {
  const { stately, port, origin: origins = [] } = options;
  if (port !== undefined && !stately) throw new UsageFailure('--port needs --stately.');
  if (origins.length > 0 && port === undefined) throw new UsageFailure('--origin needs --port.');
  const open = await feedOf(io, options);
  if (port !== undefined) await bridge(io, port, origins, open);
  // One feed of the command's own says whether the server is there at all, and ends the command when the server ends
  // it.
  await followFeed(open(), port === undefined ? (line) => print(io, line) : () => {});
}

/** Opens a feed for each client: it begins with the actors' present states. */
async function feedOf(io: Io, options: InspectOptions): Promise<() => WebSocket> {
  const [server, token] = [serverUrl(options, io.env), operatorToken(options, io.env)];
  const url = new URL(`${server.replace(/^http/, 'ws')}/console/api/inspect`);
  const workspace =
    options.workspace === undefined ? undefined : await new ConsoleClient(server, token).workspace(options.workspace);
  for (const [name, value] of Object.entries({
    workspace,
    kind: options.kind,
    id: options.id,
    format: options.stately ? 'stately' : undefined,
  }))
    if (value !== undefined) url.searchParams.set(name, value);
  return () => new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
}

/** Rejects when the feed ends: it ends only with the connection. */
async function followFeed(feed: WebSocket, receive: (line: string) => void): Promise<never> {
  feed.on('message', (data) => receive(String(data)));
  const refused = once(feed, 'unexpected-response').then(async (said) => {
    const answer = said[1] as IncomingMessage;
    answer.resume();
    throw new CommandFailure(
      answer.statusCode === 401
        ? "The server does not accept this operator token. Give the server's own with --operator-token or PARLEY_OPERATOR_TOKEN."
        : `The server refused the feed (${answer.statusCode}).`,
    );
  });
  const closed = once(feed, 'close').then(() => {
    throw new CommandFailure('The server ended the feed.');
  });
  try {
    return await Promise.race([refused, closed]);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`The server cannot be reached: ${messageOfThrown(error)}.`);
  }
}

/**
 * A WebSocket server on this machine that gives each client a separate feed. Browsers send the origin of a page; a
 * program sends none.
 */
async function bridge(io: Io, port: number, origins: readonly string[], open: () => WebSocket): Promise<void> {
  const isAllowed = ({ origin }: { origin?: string }): boolean => origin === undefined || origins.includes(origin);
  const server = new WebSocketServer({ host: '127.0.0.1', port, verifyClient: isAllowed });
  server.on('connection', (viewer) => {
    const feed = open();
    feed.on('message', (data) => viewer.send(String(data)));
    feed.on('error', () => viewer.close());
    feed.on('close', () => viewer.close());
    viewer.on('error', () => feed.close());
    viewer.on('close', () => feed.close());
  });
  await once(server, 'listening').catch((error: Error) => {
    throw new CommandFailure(`Port ${port} of 127.0.0.1 cannot be listened on: ${error.message}.`);
  });
  print(io, `ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
}
