import { EventEmitter, once } from 'node:events';
import t from 'tap';
import { WebSocket } from 'ws';
import type { Clock } from '../../src/clock.ts';
import { openNodeEdge } from '../../src/edge/node.ts';
import type { Outlet } from '../../src/edge.ts';
import { bounds, deaf, gate, RawClient, serve } from './harness.ts';

/** A clock that stands still until told; `set` is emitted for each timer that is set. */
class StillClock extends EventEmitter implements Clock {
  #timers = new Set<() => void>();
  now = (): number => 0;
  monotonic = (): number => 0;
  after(delayMs: number, callback: () => void): { cancel(): void } {
    this.#timers.add(callback);
    this.emit('set', delayMs);
    return { cancel: () => this.#timers.delete(callback) };
  }
  /** Fires every timer that is set now. */
  fire(): void {
    const due = [...this.#timers];
    this.#timers.clear();
    for (const callback of due) callback();
  }
  stop = (): void => this.#timers.clear();
}

// The other engine pings by itself, by a clock of its own.
t.test('a socket of the node engine that does not answer pings is cut', async (t) => {
  const clock = new StillClock();
  const code = gate<number>();
  const edge = await openNodeEdge(
    {
      ...deaf,
      upgrade: (upgrade) => upgrade.accept({ opened: () => {}, message: () => {}, closed: code.open }),
    },
    bounds,
    clock,
  );
  const port = await edge.listen('127.0.0.1', 0);
  t.teardown(() => edge.close(0));

  const beat = once(clock, 'set');
  const client = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong: false });
  await once(client, 'open');
  t.same(await beat, [bounds.connectionIdleMs / 2]);

  clock.fire();
  const [data] = (await once(client, 'ping')) as [Buffer];
  client.pong(data);
  client.ping();
  await once(client, 'pong');
  clock.fire();
  await once(client, 'ping');
  t.equal(client.readyState, WebSocket.OPEN, 'one that answers lives');

  clock.fire();
  t.equal(await code.promise, 1006, 'one that does not is cut');
  await once(client, 'close');
});

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
