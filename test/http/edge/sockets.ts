import { EventEmitter, once } from 'node:events';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import type { Socket, SocketListener, Upgrade } from '../../../src/base/edge.ts';
import { ask, bounds, deaf, gate, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';
import { messages } from './messages.ts';
import { Client, silent } from './socket-client.ts';
import { socketPace } from './socket-pace.ts';
import { StillClock } from './still-clock.ts';

/** The edge's contract for WebSockets, which every engine must keep. */
export async function socketContract(t: Test, open: OpenEdge): Promise<void> {
  await t.test('the handshake follows RFC 6455', (t) => handshake(t, open));
  await t.test('accepted after the call that brought the request', (t) => acceptedLate(t, open));
  await t.test('odd handshakes are accepted or refused as RFC 6455 says', (t) => oddHandshakes(t, open));
  await t.test('other wishes to upgrade', (t) => otherWishes(t, open));
  await t.test('messages arrive whole and in order', (t) => messages(t, open));
  await t.test('the ends of sockets', (t) => ends(t, open));
  await t.test('other ends of sockets', (t) => otherEnds(t, open));
  await t.test('the pace of messages', (t) => socketPace(t, open));
  await t.test('a socket that reads slowly', (t) => slowSocket(t, open));
}

async function handshake(t: Test, open: OpenEdge): Promise<void> {
  const { port } = await serve(t, open, {
    upgrade: async (upgrade) => {
      if (upgrade.query === 'later') await new Promise((resolve) => setImmediate(resolve));
      if (upgrade.path === '/refuse') return upgrade.respond(401, { 'x-request-id': 'req_1' }, 'no');
      upgrade.accept(
        {
          ...silent,
          opened: (socket) => socket.send(`${upgrade.path} ${upgrade.headers('x-one')} ${upgrade.remoteAddress}`),
        },
        { 'x-request-id': 'req_2', 'set-cookie': ['a=1', 'b=2'] },
        upgrade.headers('sec-websocket-protocol').length > 0 ? 'second' : undefined,
      );
    },
  });

  for (const query of ['', '?later']) {
    await t.test(`accepted ${query}`, async (t) => {
      const client = new Client(port, `/open${query}`, ['first', 'second'], { 'x-one': '1' });
      t.same(await client.received(1), ['/open 1 127.0.0.1']);
      t.equal(client.socket.protocol, 'second');
      t.equal(client.responseHeaders['x-request-id'], 'req_2');
      t.same(client.responseHeaders['set-cookie'], ['a=1', 'b=2']);
      client.socket.close();
      await client.closed;
      const plain = new Client(port, `/open${query}`);
      await plain.received(1);
      t.equal(plain.socket.protocol, '');
      plain.socket.close();
      await plain.closed;
    });

    await t.test(`refused like any other request ${query}`, async (t) => {
      const client = new Client(port, `/refuse${query}`);
      await client.closed;
      t.equal(client.refusedWith, 401);
    });
  }
}

/**
 * An engine that looks at a request's state after its memory has become the socket's closes the socket, or mixes up two
 * connections.
 */
async function acceptedLate(t: Test, open: OpenEdge): Promise<void> {
  const waiting: Upgrade[] = [];
  let arrived = gate();
  const echo = (opened: () => void): SocketListener => {
    let own: Socket | null = null;
    return {
      ...silent,
      opened(socket) {
        own = socket;
        opened();
      },
      message: (data) => void own!.send(data),
    };
  };
  const { port } = await serve(t, open, {
    exchange: async (exchange) => {
      if (exchange.method === 'POST') await exchange.body();
      for (const upgrade of waiting.splice(0)) upgrade.accept(echo(() => {}));
      exchange.respond(200, {}, 'accepted');
    },
    upgrade: async (upgrade) => {
      if (upgrade.path === '/wait') {
        waiting.push(upgrade);
        return arrived.open();
      }
      await new Promise((resolve) => setImmediate(resolve));
      upgrade.accept(echo(takeFreedMemory));
    },
  });
  const echoes = async (t: Test, client: Client): Promise<void> => {
    await client.opened;
    client.socket.send('one');
    t.same(await Promise.race([client.received(1), client.closed]), ['one']);
    client.socket.close();
    t.equal(await client.closed, 1005);
  };

  await t.test('whatever memory its listener takes', async (t) => {
    for (let each = 0; each < 5; each++) await echoes(t, new Client(port));
  });
  await t.test('a socket is written to from the listener of another connection', async (t) => {
    for (const asked of [{}, { method: 'POST', body: 'a body' }, {}]) {
      arrived = gate();
      const client = new Client(port, '/wait');
      await arrived.promise;
      t.same((await ask(port, asked)).text, 'accepted');
      await echoes(t, client);
    }
  });
}

const taken: Buffer[] = [];

/**
 * Takes small pieces of memory of every size and fills them with the flag that marks an answer of uWebSockets.js as the
 * last of its connection.
 */
function takeFreedMemory(): void {
  for (let size = 8; size <= 512; size += 8)
    for (let each = 0; each < 4; each++) taken.push(Buffer.allocUnsafeSlow(size).fill(0x10));
}

async function oddHandshakes(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a subprotocol that is not chosen is not promised', async (t) => {
    const { port } = await serve(t, open, { upgrade: (upgrade) => upgrade.accept(silent) });
    const client = new RawClient(port);
    await client.send(handshakeText('Sec-WebSocket-Protocol: first, second\r\n'));
    await client.until(/^HTTP\/1.1 101[^]*\r\n\r\n$/);
    t.notMatch(client.text, /sec-websocket-protocol/i);
    client.destroy();
  });

  await t.test(
    'a message that comes before the handshake is over is not lost, or the connection is closed',
    async (t) => {
      const came = gate<Upgrade>();
      const got: (string | Uint8Array)[] = [];
      const two = gate();
      const { port } = await serve(t, open, {
        exchange: (exchange) => exchange.respond(200, {}, 'healthy'),
        upgrade: (upgrade) => came.open(upgrade),
      });
      const client = new RawClient(port);
      await client.send(handshakeText());
      const upgrade = await came.promise;
      await client.send('\x81\x83\x00\x00\x00\x00one');
      // The first message has certainly come once a later request is answered.
      t.equal((await ask(port)).text, 'healthy');
      upgrade.accept({
        ...silent,
        message: (data) => {
          if (got.push(data) === 2) two.open();
        },
      });
      await client.send('\x81\x83\x00\x00\x00\x00two').catch(() => {});
      const ended = await Promise.race([two.promise.then(() => false), client.closed.then(() => true)]);
      t.same(got, ended ? [] : ['one', 'two']);
      client.destroy();
    },
  );

  await t.test('a client that goes before it is accepted', async (t) => {
    const came = gate<Upgrade>();
    const gone = gate();
    const { port } = await serve(t, open, {
      upgrade: (upgrade) => {
        upgrade.onGone(() => gone.open());
        came.open(upgrade);
      },
    });
    const client = new RawClient(port);
    await client.send(handshakeText());
    const upgrade = await came.promise;
    client.socket.end();
    await gone.promise;
    t.equal(upgrade.gone, true);
    upgrade.accept({ ...silent, opened: () => t.fail('opened for nobody') });
    upgrade.respond(200, {});
  });
}

const handshakeText = (lines = ''): string =>
  'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${lines}\r\n`;

async function otherWishes(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a wish to upgrade that is no handshake is an ordinary request', async (t) => {
    const { port } = await serve(t, open, {
      exchange: async (exchange) => {
        const body = await exchange.body();
        const text = body.kind === 'bytes' ? Buffer.from(body.bytes).toString() : body.kind;
        exchange.respond(404, {}, `${exchange.method} ${exchange.path} ${exchange.query} ${text}`);
      },
    });
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    const wishes: [string, Record<string, string>, string][] = [
      ['GET', upgrade, ''],
      ['GET', { ...upgrade, 'sec-websocket-key': 'short' }, ''],
      ['GET', { ...upgrade, ...key, 'sec-websocket-version': '8' }, ''],
      ['GET', key, ''],
      ['GET', { ...upgrade, ...key, upgrade: 'something-else' }, ''],
      ['GET', { ...upgrade, ...key, connection: 'keep-alive' }, ''],
      ['POST', { ...upgrade, ...key }, 'body'],
      ['POST', { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' }, 'body'],
    ];
    for (const [method, headers, body] of wishes) {
      const answer = await ask(port, { method, headers, body, path: '/wish?a' });
      t.equal(answer.text, `${method} /wish a ${body}`);
    }
  });
}

interface Run {
  client: Client;
  code: Promise<number>;
  close(graceMs: number): Promise<void>;
}

/** One open socket, and the close code that its listener gets. */
async function connected(t: Test, open: OpenEdge, listener: Partial<SocketListener>): Promise<Run> {
  const code = gate<number>();
  const { port, edge } = await serve(t, open, {
    upgrade: (upgrade) => upgrade.accept({ ...silent, ...listener, closed: code.open }),
  });
  const client = new Client(port);
  await client.opened;
  return { client, code: code.promise, close: (graceMs) => edge.close(graceMs) };
}

async function ends(t: Test, open: OpenEdge): Promise<void> {
  await t.test('closed by us, with a code; then nothing is sent or received', async (t) => {
    let socket!: Socket;
    let count = 0;
    const { client, code } = await connected(t, open, {
      opened: (opened) => (socket = opened),
      message: () => {
        count++;
        socket.close(1008, 'over');
        socket.close(1000);
        t.equal(socket.send('late'), false);
      },
    });
    client.socket.send('go');
    client.socket.send('again');
    t.equal(await client.closed, 1008);
    t.equal(await code, 1008);
    t.same(client.messages, []);
    t.equal(count, 1);
    t.equal(socket.bufferedBytes, 0);
  });

  await t.test('closed by the client, with a code and without', async (t) => {
    for (const [sent, expected] of [
      [1000, 1000],
      [4001, 4001],
      [undefined, 1005],
    ] as const) {
      const { client, code } = await connected(t, open, {});
      client.socket.close(sent);
      t.equal(await code, expected);
      await client.closed;
    }
  });

  await t.test('the client vanishes', async (t) => {
    const { client, code } = await connected(t, open, {});
    client.socket.terminate();
    t.equal(await code, 1006);
  });
}

async function otherEnds(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a listener that throws closes its socket with 1011', async (t) => {
    const { client, code } = await connected(t, open, {
      message: () => {
        throw new Error('a fault');
      },
    });
    client.socket.send('go');
    t.equal(await client.closed, 1011);
    t.equal(await code, 1011);
  });

  await t.test('a socket that outlasts the grace closes with 1001', async (t) => {
    const { client, code, close } = await connected(t, open, {});
    await close(30);
    t.equal(await client.closed, 1001);
    t.equal(await code, 1001);
  });

  await t.test('a ping is answered', async (t) => {
    const { client } = await connected(t, open, {});
    const pong = new Promise((resolve) => client.socket.on('pong', (data) => resolve(data.toString())));
    client.socket.ping('marco');
    t.equal(await pong, 'marco');
    client.socket.close();
    await client.closed;
  });

  await t.test(
    'a peer that answers pings lives, and one that does not is dropped, whatever else it sends',
    async (t) => {
      const clock = new StillClock();
      const code = gate<number>();
      const heard = new EventEmitter();
      const listener = {
        ...deaf,
        upgrade: (upgrade: Upgrade) =>
          upgrade.accept({ ...silent, message: () => void heard.emit('message'), closed: code.open }),
      };
      const edge = await open(listener, bounds, clock);
      const port = await edge.listen('127.0.0.1', 0);
      t.teardown(() => {
        clock.on('set', () => setImmediate(() => clock.fire()));
        return edge.close(0);
      });
      const set = once(clock, 'set');
      const client = new WebSocket(`ws://127.0.0.1:${port}`, { autoPong: false });
      client.on('error', () => {});
      await once(client, 'open');
      t.same(await set, [bounds.socketSilentMs / 3], 'three pings go out in that time');
      const pinged = async (): Promise<void> => {
        const ping = once(client, 'ping');
        clock.fire();
        await ping;
      };
      for (let pings = 0; pings < 3; pings++) await pinged();
      client.pong();
      client.ping();
      await once(client, 'pong');
      for (let pings = 0; pings < 3; pings++) await pinged();
      t.equal(client.readyState, WebSocket.OPEN, 'it has answered one in between');

      client.send('I am here.');
      await once(heard, 'message');
      clock.fire();
      t.equal(await code.promise, 1006);
      await once(client, 'close');
    },
  );
}

/** More pings than those whose answers fit into the system's buffers, which may grow to 40 MB. */
const pingsMax = 800_000;

async function slowSocket(t: Test, open: OpenEdge): Promise<void> {
  await t.test('is told to hold back, and drains', async (t) => {
    const held = gate<number>();
    const drained = gate();
    let sent = 0;
    const { port } = await serve(t, open, {
      upgrade: (upgrade) =>
        upgrade.accept({
          ...silent,
          drained: () => drained.open(),
          opened: (socket) => {
            setImmediate(() => {
              while (socket.send(Buffer.alloc(50_000, sent++ % 256)) && sent < 2000);
              held.open(socket.bufferedBytes);
            });
          },
        }),
    });
    const client = new Client(port);
    await client.opened;
    client.socket.pause();
    t.ok((await held.promise) > 0);
    t.ok(sent < 2000);
    client.socket.resume();
    await drained.promise;
    const got = await client.received(sent);
    t.ok(
      got.every((message, index) => (message as Buffer).length === 50_000 && (message as Buffer)[0] === index % 256),
    );
    client.socket.terminate();
    await client.closed;
  });

  await t.test('is cut if it pings and does not read', (t) => pinging(t, open));

  await t.test('is cut if it is not held back', async (t) => {
    const code = gate<number>();
    const { port } = await serve(t, open, {
      upgrade: (upgrade) =>
        upgrade.accept({
          ...silent,
          closed: code.open,
          opened: (socket) => {
            setImmediate(() => {
              for (let sent = 0; sent < 2000; sent++) socket.send(Buffer.alloc(50_000));
              t.ok(socket.bufferedBytes <= bounds.slowReaderBytesMax + 100_000, `${socket.bufferedBytes} bytes wait`);
            });
          },
        }),
    });
    const client = new Client(port);
    await client.opened;
    client.socket.pause();
    t.equal(await code.promise, 1006);
    client.socket.terminate();
    await client.closed;
  });
}

async function pinging(t: Test, open: OpenEdge): Promise<void> {
  const code = gate<number>();
  const { port } = await serve(
    t,
    open,
    { upgrade: (upgrade) => upgrade.accept({ ...silent, closed: code.open }) },
    { socketTextsMax: Infinity },
  );
  const client = new Client(port);
  await client.opened;
  client.socket.pause();
  const payload = Buffer.alloc(125);
  // Waits for the other side, which takes pings only for as long as there is room for their answers.
  const ping = (): Promise<unknown> => new Promise((resolve) => client.socket.ping(payload, undefined, resolve));
  let over = false;
  void code.promise.then(() => (over = true));
  let sent = 0;
  // Once the client knows that it was cut, its pings fail at once, all in one turn of the event loop, and the listener
  // is not told before.
  const isOpen = (): boolean => !over && client.socket.readyState === WebSocket.OPEN;
  for (; isOpen() && sent < pingsMax; sent += 1000)
    await Promise.race([code.promise, Promise.all(Array.from({ length: 1000 }, ping))]);
  t.ok(sent < pingsMax, `cut after ${sent} pings`);
  if (sent < pingsMax) t.equal(await code.promise, 1006);
  client.socket.terminate();
  await client.closed;
}
