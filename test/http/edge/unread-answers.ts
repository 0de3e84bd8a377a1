import type { Test } from 'tap';
import type { Answerable, Exchange } from '../../../src/base/edge.ts';
import { ask, bounds, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';

const requests = 20_000;
/** Far more than the buffers of the system take, far less than all answers, which are of two kilobytes and more. */
const answeredBytesMax = 20_000_000;

const kilobytes = (count: number): string => 'x'.repeat(count * 1024);
const upgrade =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';

/** Kinds of answers to a request, and the number of bytes that count. */
const kinds: Readonly<
  Record<
    string,
    { readonly method?: string; readonly lines?: string; readonly bytes: number; answer(exchange: Exchange): void }
  >
> = {
  'small answers': { bytes: 2048, answer: (exchange) => exchange.respond(200, {}, kilobytes(2)) },
  'small answers of bytes': { bytes: 2048, answer: (exchange) => exchange.respond(401, {}, Buffer.alloc(2048)) },
  'answers of 60 KB': { bytes: 60 * 1024, answer: (exchange) => exchange.respond(200, {}, kilobytes(60)) },
  'answers that come later': {
    bytes: 2048,
    answer: (exchange) => setImmediate(() => exchange.respond(200, {}, kilobytes(2))),
  },
  'answers without a body': { bytes: 4096, answer: (exchange) => exchange.respond(304, { 'x-long': kilobytes(4) }) },
  'answers with an empty body': {
    bytes: 4096,
    answer: (exchange) => exchange.respond(200, { 'x-long': kilobytes(4) }, ''),
  },
  'answers to HEAD': {
    method: 'HEAD',
    bytes: 4096,
    answer: (exchange) => exchange.respond(200, { 'x-long': kilobytes(4) }, 'body'),
  },
  'streams in one piece': { bytes: 2048, answer: (exchange) => exchange.stream(200, {}).end(kilobytes(2)) },
  'streams in two': { bytes: 4096, answer: (exchange) => streamTwo(exchange, 2) },
  'streams with a last piece that is large': { bytes: 42 * 1024, answer: (exchange) => streamTwo(exchange, 40) },
  'streams for HEAD': {
    method: 'HEAD',
    bytes: 4096,
    answer: (exchange) => exchange.stream(200, { 'x-long': kilobytes(4) }).end('x'),
  },
  'clients that wait to be asked': {
    lines: 'Expect: 100-continue\r\n',
    bytes: 2048,
    answer: (exchange) => exchange.respond(200, {}, kilobytes(2)),
  },
  'refused upgrades': { lines: upgrade, bytes: 2048, answer: (exchange) => exchange.respond(404, {}, kilobytes(2)) },
};

function streamTwo(exchange: Exchange, last: number): void {
  const outlet = exchange.stream(200, {});
  outlet.write(kilobytes(2));
  outlet.end(kilobytes(last));
}

/** Clients that send requests and read no answer (contract 11), and clients that read them, on every engine. */
export async function unreadAnswers(t: Test, open: OpenEdge): Promise<void> {
  for (const [name, { method = 'GET', lines = '', bytes, answer }] of Object.entries(kinds)) {
    await t.test(`${name}: while they are not read, no more are made`, async (t) => {
      let answered = 0;
      const respond = (request: Answerable): void => {
        if (request.path === '/healthy') return request.respond(200, {}, 'healthy');
        answered += bytes;
        answer(request as Exchange);
      };
      const { port } = await serve(t, open, { exchange: respond, upgrade: respond });
      const client = new RawClient(port);
      client.socket.pause();
      void client.send(`${method} / HTTP/1.1\r\nHost: x\r\n${lines}\r\n`.repeat(requests));
      await still(port, () => answered);
      t.ok(answered > 0 && answered < answeredBytesMax, `${answered / 1e6} MB were made`);
      client.destroy();
    });
  }

  await t.test('a client that reads gets every answer, in order', async (t) => {
    const { port } = await serve(t, open, {
      exchange: (exchange) => exchange.respond(200, {}, `answer ${exchange.query};`),
    });
    const client = new RawClient(port);
    const numbers = Array.from({ length: 20 * bounds.pipelinedMax }, (_, index) => index);
    for (let from = 0; from < numbers.length; from += bounds.pipelinedMax) {
      const some = numbers.slice(from, from + bounds.pipelinedMax);
      void client.send(some.map((number) => `GET /?${number} HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
      await client.endsWith(`answer ${some.at(-1)};`);
    }
    t.same(
      [...client.text.matchAll(/answer (\d+);/g)].map(([, number]) => Number(number)),
      numbers,
    );
    client.destroy();
  });

  await t.test('more than may wait for an answer close the connection, and none of them runs', async (t) => {
    let ran = 0;
    const { port } = await serve(t, open, { exchange: () => void ran++ });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(bounds.pipelinedMax + 2));
    await client.closed;
    t.equal(ran, 1);
  });

  await t.test('a body behind an answer that is not read is read later', async (t) => {
    const { port } = await serve(t, open, {
      exchange: async (exchange) => {
        const body = exchange.method === 'GET' ? null : await exchange.body();
        exchange.respond(200, {}, body?.kind === 'bytes' ? `${body.bytes.length} came;` : kilobytes(60));
      },
    });
    const client = new RawClient(port);
    client.socket.pause();
    const body = 'x'.repeat(bounds.bodyBytesMax);
    void client.send(
      `${'GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)}POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await still(port, () => 0);
    client.socket.resume();
    await Promise.race([client.endsWith('65536 came;'), client.closed]);
    t.ok(client.over || client.text.endsWith('65536 came;'), 'or the connection is closed');
    client.destroy();
  });
}

/** Resolves once other clients' requests are answered and the count does not move any more. */
async function still(port: number, count: () => number): Promise<void> {
  let before: number;
  do {
    before = count();
    for (let round = 0; round < 20; round++) await ask(port, { path: '/healthy' });
  } while (count() !== before);
}
