import { once } from 'node:events';
import type { Test } from 'tap';
import type { Exchange, Outlet } from '../../../src/base/edge.ts';
import { gate, RawClient, serve } from './harness.ts';
import type { OpenEdge, Served } from './harness.ts';

/** The edge's contract for streamed answers while it closes, which every engine must keep. */
export async function lastStreams(t: Test, open: OpenEdge): Promise<void> {
  await t.test('fetch sees whether an answer is whole', (t) => fetched(t, open));
  await t.test('a stream closes its connection, whenever its head was sent', (t) => closed(t, open));
  await t.test('a stream within the call that brought its request is whole', (t) => atOnce(t, open));
  await t.test('a slow reader gets all of it', (t) => slowly(t, open));
  await t.test('a client that wants its connection closed sees a cut', (t) => cutOf(t, open));
}

/** The end of a chunked answer; an engine may need a trailer for it. */
export const chunkedEnd = /\r\n0\r\n(?:X-End: 1\r\n)?\r\n$/;

/** An edge that hands each exchange to the test that waits for that path. */
async function exchanges(
  t: Test,
  open: OpenEdge,
  paths: readonly string[],
): Promise<Served & { at(path: string): Promise<Exchange> }> {
  const gates = new Map(paths.map((path) => [path, gate<Exchange>()]));
  const served = await serve(t, open, { exchange: (exchange) => gates.get(exchange.path)!.open(exchange) });
  return { ...served, at: (path) => gates.get(path)!.promise };
}

async function fetched(t: Test, open: OpenEdge): Promise<void> {
  const { port, edge, at } = await exchanges(t, open, ['/whole', '/cut', '/nothing']);
  const answers = ['/whole', '/cut', '/nothing'].map((path) => fetch(`http://127.0.0.1:${port}${path}`));
  const came = await Promise.all([at('/whole'), at('/cut'), at('/nothing')]);
  edge.stopListening();
  const [whole, cut, nothing] = came.map((exchange) => exchange.stream(200, {}));
  whole!.write('one ');
  cut!.write('half');
  nothing!.end();
  const [wholeAnswer, cutAnswer, emptyAnswer] = await Promise.all(answers);
  const [rest, all] = [t.rejects(cutAnswer!.text()), wholeAnswer!.text()];
  cut!.cut();
  whole!.end('two');
  t.equal(await all, 'one two');
  t.equal(await emptyAnswer!.text(), '');
  await rest;
}

async function closed(t: Test, open: OpenEdge): Promise<void> {
  const { port, edge, at } = await exchanges(t, open, ['/before', '/after', '/held']);
  const [before, after, held] = [new RawClient(port), new RawClient(port), new RawClient(port)];
  await before.send('GET /before HTTP/1.1\r\nHost: x\r\n\r\n');
  await after.send('GET /after HTTP/1.1\r\nHost: x\r\n\r\n');
  await held.send('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
  const first = (await at('/before')).stream(200, {});
  first.write('begun');
  await before.until(/begun/);
  const [waiting] = await Promise.all([at('/after'), at('/held')]);
  edge.stopListening();
  const second = waiting.stream(200, {});
  second.write('begun');
  await after.until(/begun/);
  first.end();
  second.end(' and done');
  // Another answer keeps the edge open.
  await Promise.all([before.closed, after.closed]);
  for (const { text } of [before, after]) {
    t.match(text, chunkedEnd);
    t.notMatch(text, /connection: close/i);
  }
  t.match(after.text, /begun[^]* and done\r\n0/);
  t.equal(held.over, false);
}

async function atOnce(t: Test, open: OpenEdge): Promise<void> {
  const { port, edge } = await serve(t, open, {
    exchange: (exchange) => {
      if (exchange.path === '/first') return exchange.respond(200, {}, 'first');
      const outlet = exchange.stream(200, {});
      outlet.write('one ');
      outlet.end('two');
    },
  });
  const client = new RawClient(port);
  await client.send('GET /first HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.until(/first$/);
  edge.stopListening();
  await client.send('GET /second HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.closed;
  t.match(client.text, /one [^]*two\r\n0/);
  t.match(client.text, chunkedEnd);
}

async function slowly(t: Test, open: OpenEdge): Promise<void> {
  const { port, edge, at } = await exchanges(t, open, ['/']);
  const client = new RawClient(port);
  client.socket.pause();
  await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const exchange = await at('/');
  edge.stopListening();
  const outlet = exchange.stream(200, {});
  await flooded(outlet);
  outlet.end('the end');
  client.socket.resume();
  await client.until(chunkedEnd);
  t.match(client.text.slice(-40), /the end\r\n0\r\n\r\n$/, 'by the engine itself, which may hold some of it still');
  await edge.close(60_000);
}

/** Writes until the reader is too slow for it. */
const flooded = (outlet: Outlet): Promise<void> =>
  new Promise((resolve) => {
    // Later than the request, so that the engine does not gather the writes by itself.
    setImmediate(() => {
      while (outlet.write('x'.repeat(500)));
      resolve();
    });
  });

async function cutOf(t: Test, open: OpenEdge): Promise<void> {
  const { port, at } = await exchanges(t, open, ['/']);
  const client = new RawClient(port);
  const reset = once(client.socket, 'error').then(([{ code }]) => code as string);
  await client.send('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const outlet = (await at('/')).stream(200, {});
  outlet.write('half');
  await client.until(/half/);
  outlet.cut();
  await client.closed;
  // If the head has announced the close, a plain end of the connection would look like the answer's end.
  if (/connection: close/i.test(client.text)) t.equal(await reset, 'ECONNRESET');
  t.notMatch(client.text, chunkedEnd);
}
