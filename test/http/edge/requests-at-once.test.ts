/**
 * The engine uws answers few requests of one iteration of the event loop as they are parsed, from any number of
 * connections.
 */
import t from 'tap';
import { openUwsEdge, requestsAtOnce } from '../../../src/http/edge/uws.ts';
import { gate, RawClient, serve } from './harness.ts';

t.test('requests that arrive at once run a bounded number in a turn of the loop', async (t) => {
  const [connections, each] = [4, requestsAtOnce];
  let [ran, inTurn, most] = [0, 0, 0];
  const all = gate();
  const { port } = await serve(t, openUwsEdge, {
    exchange(exchange) {
      if (++ran === connections * each) all.open();
      if (inTurn++ === 0) setImmediate(() => (inTurn = 0));
      most = Math.max(most, inTurn);
      exchange.respond(200, {}, 'x');
    },
  });
  const clients = Array.from({ length: connections }, () => new RawClient(port));
  for (const { socket } of clients) {
    const connected = gate();
    socket.once('connect', () => connected.open());
    await connected.promise;
  }
  // All of a connection's requests fit into what the engine reads at a time.
  for (const { socket } of clients) socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(each));
  // A request behind one that waits ends their connection.
  await Promise.race([all.promise, ...clients.map(({ closed }) => closed)]);
  t.ok(most <= requestsAtOnce, `${most} of ${ran} ran in one turn`);
  for (const client of clients) client.destroy();
});
