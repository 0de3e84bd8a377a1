/** A receiver of webhooks: it verifies each request as Standard Webhooks says, and remembers it. */
import { once } from 'node:events';
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Owner } from './folders.ts';

/** A request that has come. */
export interface Received {
  readonly id: string;
  /** The bytes of the body. */
  readonly text: string;
  readonly event: { readonly type: string; readonly timestamp: string; readonly data: Readonly<Record<string, any>> };
  readonly headers: IncomingHttpHeaders;
  readonly isSigned: boolean;
  /** The status of the answer; null without an answer. */
  readonly answered: number | null;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** The webhook's secret, which the answer to its creation has. */
  secret: string;
  /** The status of the answer to a request, with further headers; null for no answer. */
  answer: (id: string) => number | null | readonly [number, Readonly<Record<string, string>>];
  /** Resolves once a condition on the received requests holds. */
  until(holds: (received: readonly Received[]) => boolean): Promise<void>;
}

export async function openReceiver(t: Owner): Promise<Receiver> {
  const waiting = new Set<() => void>();
  const receiver: Receiver = {
    url: '',
    received: [],
    secret: '',
    answer: () => 204,
    async until(holds) {
      while (!holds(receiver.received)) await new Promise<void>((resolve) => waiting.add(resolve));
    },
  };
  const take = (text: string, headers: IncomingHttpHeaders, response: ServerResponse): void => {
    const id = String(headers['webhook-id']);
    const answer = receiver.answer(id);
    const [status, more] = typeof answer === 'object' && answer !== null ? answer : [answer, {}];
    const isSigned = verify(receiver.secret, headers, text);
    receiver.received.push({ id, text, event: JSON.parse(text), headers, isSigned, answered: status });
    if (status !== null) response.writeHead(status, more).end();
    for (const resolve of waiting) resolve();
    waiting.clear();
  };
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => take(Buffer.concat(pieces).toString(), request.headers, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(receiver, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` });
}

function verify(secret: string, headers: IncomingHttpHeaders, text: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`;
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return String(headers['webhook-signature'])
    .split(' ')
    .map((each) => Buffer.from(each))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}
