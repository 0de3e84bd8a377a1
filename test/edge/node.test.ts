import t from 'tap';
import { openNodeEdge } from '../../src/edge/node.ts';
import type { Outlet } from '../../src/edge.ts';
import { gate, RawClient, serve } from './harness.ts';

// The other engine cannot close after a stream whose head has not said so.
t.test('a stream of the node engine that ends while the edge closes ends its connection', async (t) => {
  const outlets: Outlet[] = [];
  const both = gate();
  const { port, edge } = await serve(t, openNodeEdge, {
    exchange: (exchange) => {
      const outlet = exchange.stream(200, {});
      outlet.write('begun');
      if (outlets.push(outlet) === 2) both.open();
    },
  });
  const clients = [new RawClient(port), new RawClient(port)];
  for (const client of clients) {
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until(/begun/);
  }
  await both.promise;
  const closed = edge.close(60_000);
  outlets[0]!.end();
  await clients[0]!.closed;
  outlets[1]!.end();
  await Promise.all([closed, clients[1]!.closed]);
  for (const { text } of clients) t.match(text, /begun\r\n0\r\n\r\n$/);
});
