import { Agent } from 'node:http';
import type { Test } from 'tap';
import type { Body, Exchange } from '../../../src/base/edge.ts';
import { ask, bounds, gate, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';

/** The edge's contract for request bodies, which every engine must keep. */
export async function bodies(t: Test, open: OpenEdge): Promise<void> {
  await goodBodies(t, open);
  await badBodies(t, open);
  await bodiesOfWhoGoes(t, open);
  await bodiesBetweenRequests(t, open);
}

const echo = async (exchange: Exchange): Promise<void> => {
  if (exchange.query === 'later') await new Promise((resolve) => queueMicrotask(() => resolve(null)));
  const body = await exchange.body();
  if (body.kind === 'bytes') exchange.respond(200, {}, body.bytes);
  else exchange.respond(400, {}, body.kind);
};

async function goodBodies(t: Test, open: OpenEdge): Promise<void> {
  const { port } = await serve(t, open, { exchange: echo });

  await t.test('all of a body, up to its bound', async (t) => {
    for (const path of ['/', '/?later']) {
      for (const size of [0, 1, 5000, bounds.bodyBytesMax]) {
        const body = Buffer.alloc(size, 'ě');
        t.ok((await ask(port, { method: 'POST', path, body })).bytes.equals(body), `${size} bytes with a length`);
        const chunked = await ask(port, { method: 'POST', path, body, headers: { 'transfer-encoding': 'chunked' } });
        t.ok(chunked.bytes.equals(body), `${size} bytes in chunks`);
      }
    }
    t.equal((await ask(port)).bytes.length, 0);
  });

  await t.test('a body may be asked for twice', async (t) => {
    const { port } = await serve(t, open, {
      exchange: async (exchange) => {
        const [one, two] = await Promise.all([exchange.body(), exchange.body()]);
        exchange.respond(200, {}, String(one === two));
      },
    });
    t.equal((await ask(port, { method: 'POST', body: 'x' })).text, 'true');
  });

  await t.test('over the bound: an answer that closes the connection', async (t) => {
    const agent = new Agent({ keepAlive: true });
    t.teardown(() => agent.destroy());
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }] as Record<string, string>[]) {
      for (const size of [bounds.bodyBytesMax + 1, 40 * bounds.bodyBytesMax]) {
        const answer = await ask(port, { method: 'POST', body: Buffer.alloc(size), headers, agent });
        t.equal(answer.text, 'too_large');
        t.equal(answer.headers.connection, 'close');
      }
    }
    const client = new RawClient(port);
    await client.send(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${bounds.bodyBytesMax + 1}\r\n\r\n`);
    await client.send('x'.repeat(bounds.bodyBytesMax + 1));
    await client.closed;
    t.match(client.text, /too_large$/);
  });
}

async function badBodies(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a body that stalls: an answer that closes the connection', async (t) => {
    const { port } = await serve(t, open, { exchange: echo }, { bodyMsMax: 60 });
    const client = new RawClient(port);
    await client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab');
    await client.closed;
    t.match(client.text, /^HTTP\/1.1 400 [^]*timeout$/);
    const endless = new RawClient(port);
    await endless.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999\r\n\r\nab');
    await endless.closed;
    t.match(endless.text, /too_large$/, 'one that is too large is known to be');
  });

  await t.test('a client that goes while it sends', async (t) => {
    const came = gate<Exchange>();
    const outcome = gate<Body>();
    const gone = gate();
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        exchange.onGone(() => gone.open());
        void exchange.body().then(outcome.open);
        came.open(exchange);
      },
    });
    const client = new RawClient(port);
    await client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab');
    const exchange = await came.promise;
    t.equal(exchange.gone, false);
    client.destroy();
    await gone.promise;
    t.same(await outcome.promise, { kind: 'gone' });
    t.equal(exchange.gone, true);
    let late = 0;
    exchange.onGone(() => late++);
    t.equal(late, 1, 'who asks late is told at once');
    exchange.respond(200, {}, 'to nobody');
    t.same(await exchange.body(), { kind: 'gone' });
  });
}

async function bodiesOfWhoGoes(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a body that came whole is dropped once its client goes', async (t) => {
    const came = gate<Exchange>();
    const { port } = await serve(t, open, {
      exchange: (exchange) => void exchange.body().then(() => came.open(exchange)),
    });
    const client = new RawClient(port);
    await client.send('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nabcd');
    const exchange = await came.promise;
    t.match(await exchange.body(), { kind: 'bytes' });
    const gone = gate();
    exchange.onGone(() => gone.open());
    client.destroy();
    await gone.promise;
    t.same(await exchange.body(), { kind: 'gone' });
  });
}

async function bodiesBetweenRequests(t: Test, open: OpenEdge): Promise<void> {
  const { port } = await serve(t, open, { exchange: echo });

  await t.test('a client that expects to be asked to continue', async () => {
    const client = new RawClient(port);
    await client.send('POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n');
    await client.until(/^HTTP\/1.1 100 Continue\r\n\r\n$/);
    await client.send('abcd');
    await client.until(/HTTP\/1.1 200 OK\r\n[^]*abcd$/);
    client.destroy();
  });

  await t.test('an unread body is discarded before the next request', async (t) => {
    const paths: string[] = [];
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        paths.push(exchange.path);
        exchange.respond(401, {});
      },
    });
    const client = new RawClient(port);
    const inner = 'GET /inner HTTP/1.1\r\nHost: x\r\n\r\n';
    await client.send(`POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`);
    await client.until(/401/);
    await client.send('GET /two HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until(/401[^]*401/);
    t.same(paths, ['/one', '/two']);
    client.destroy();
  });
}
