import { Agent } from 'node:http';
import type { Test } from 'tap';
import type { Exchange, Outlet } from '../../../src/base/edge.ts';
import { ask, gate, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';

/** The edge's contract for streamed answers, which every engine must keep. */
export async function streams(t: Test, open: OpenEdge): Promise<void> {
  await streamsAndTheirConnections(t, open);
  await streamsAndTheirClients(t, open);
}

async function streamsAndTheirConnections(t: Test, open: OpenEdge): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());

  await t.test('pieces arrive as they are written, the head with the first', async (t) => {
    const opened = gate<Outlet>();
    const { port } = await serve(t, open, {
      exchange: (exchange) =>
        opened.open(exchange.stream(200, { 'content-type': 'text/event-stream', 'x-turn-id': 'turn_1' })),
    });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const outlet = await opened.promise;
    t.equal(client.text, '');
    t.equal(outlet.write(': hello\n\n'), true);
    await client.until(/^HTTP\/1.1 200 OK\r\n[^]*: hello\n\n/);
    t.match(client.text, /x-turn-id: turn_1/i);
    outlet.write('data: 🍵\n\n');
    await client.until(/data: \xf0\x9f\x8d\xb5\n\n/);
    outlet.write(new Uint8Array([1, 254]));
    await client.until(/\x01\xfe/);
    outlet.write('');
    outlet.end('last');
    await client.until(/last\r\n0\r\n\r\n$/);
    t.equal(outlet.write('after the end'), false);
    client.destroy();
  });

  await t.test('the connection stays usable, whatever was streamed', async (t) => {
    const { port } = await serve(t, open, {
      exchange: async (exchange) => {
        if (exchange.query === 'later') await Promise.resolve();
        const outlet = exchange.stream(200, { 'x-streamed': 'yes' });
        if (exchange.path === '/pieces') outlet.write('one ');
        if (exchange.path === '/pieces') outlet.write('two');
        if (exchange.path === '/nothing') outlet.end();
        else outlet.end(' three');
      },
    });
    const ports = new Set<number>();
    for (const query of ['', '?later']) {
      for (const method of ['GET', 'HEAD']) {
        for (const [path, text] of [
          ['/pieces', 'one two three'],
          ['/last', ' three'],
          ['/nothing', ''],
        ]) {
          const answer = await ask(port, { method, path: `${path}${query}`, agent });
          t.equal(answer.text, method === 'HEAD' ? '' : text, `${method} ${path}${query}`);
          t.equal(answer.headers['x-streamed'], 'yes');
          ports.add(answer.localPort);
        }
      }
    }
    t.equal(ports.size, 1);
  });
}

async function streamsAndTheirClients(t: Test, open: OpenEdge): Promise<void> {
  await t.test('an answer that is cut has no end', async (t) => {
    const gone = gate();
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        exchange.onGone(() => gone.open());
        const outlet = exchange.stream(200, {});
        if (exchange.path === '/over') outlet.end('whole');
        else outlet.write('half');
        outlet.cut();
        outlet.end('nothing');
      },
    });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.all([client.closed, gone.promise]);
    t.notMatch(client.text, /\r\n0\r\n/);
    const other = new RawClient(port);
    await other.send('GET /over HTTP/1.1\r\nHost: x\r\n\r\n');
    await other.until(/whole(?:\r\n0\r\n\r\n)?$/);
    other.destroy();
  });

  await t.test('pipelined requests are answered in order, or the connection is closed', async (t) => {
    const outlets: Outlet[] = [];
    const first = gate();
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        if (exchange.path === '/now') return exchange.respond(200, {}, 'now');
        outlets.push(exchange.stream(200, {}));
        first.open();
      },
    });
    const sync = new RawClient(port);
    await sync.send('GET /now HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(3));
    await sync.until(/(now[^]*){3}/);
    sync.destroy();
    const client = new RawClient(port);
    await client.send('GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /now HTTP/1.1\r\nHost: x\r\n\r\n');
    await first.promise;
    outlets[0]!.write('first');
    outlets[0]!.end();
    await Promise.race([client.closed, client.until(/now$/)]);
    t.notMatch(client.text, /now[^]*first/);
    client.destroy();
  });

  await t.test('a client that goes while it is streamed to', async (t) => {
    const gone = gate();
    const opened = gate<{ exchange: Exchange; outlet: Outlet }>();
    const { port } = await serve(t, open, {
      exchange: (exchange) => {
        exchange.onGone(() => gone.open());
        opened.open({ exchange, outlet: exchange.stream(200, {}) });
      },
    });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const { exchange, outlet } = await opened.promise;
    outlet.write('x');
    await client.until(/x/);
    client.destroy();
    await gone.promise;
    t.equal(exchange.gone, true);
    t.equal(outlet.write('y'), false);
    outlet.end('z');
    t.equal(exchange.remoteAddress, '127.0.0.1');
  });
}
