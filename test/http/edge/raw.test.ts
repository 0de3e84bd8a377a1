import { EventEmitter, once } from 'node:events';
import t from 'tap';
import type { Test } from 'tap';
import { openNodeEdge } from '../../../src/http/edge/node.ts';
import { openUwsEdge } from '../../../src/http/edge/uws.ts';
import { RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';
import { passedOver, vectors } from './vectors.ts';

/**
 * The request that must never run: it hides in bytes that one reader takes for a body and another for the next request.
 */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const { ambiguous, unreadable, bodies } = vectors('POST /outer', 'GET /outer', '', smuggled);

const post = (lines: string, rest: string): string => `POST /outer HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n${rest}`;

/**
 * A line for which a head must be refused, and the header named in the refusal; two hosts are refused by the parser of
 * one engine.
 */
const faulty = { uws: ['Transfer-Encoding: identity', 'Transfer-Encoding'], node: ['Host: y', 'Host'] } as const;

for (const [name, open] of [
  ['node', openNodeEdge],
  ['uws', openUwsEdge],
] as const) {
  await t.test(name, async (t) => {
    const { port, ran } = await record(t, open);
    const refuse = async (t: Test, label: string, text: string): Promise<void> => {
      const client = new RawClient(port);
      await client.send(text);
      // An engine drops some of these only when its client has been silent for long; a healthy round trip proves that
      // it has handled the bytes.
      await healthy(t, port);
      await healthy(t, port);
      client.destroy();
      await client.closed;
      const expected = passedOver[name].includes(label) ? ['/outer', '/smuggled'] : [];
      t.same(
        ran.splice(0).filter((path) => path !== '/healthy'),
        expected,
        'nothing ran',
      );
    };
    await t.test('a request with ambiguous framing is refused', async (t) => {
      for (const [label, text] of Object.entries(ambiguous)) await t.test(label, (t) => refuse(t, label, text));
    });
    await t.test('a request with an unreadable head is refused', async (t) => {
      for (const [label, text] of Object.entries(unreadable)) await t.test(label, (t) => refuse(t, label, text));
    });
    await t.test('a client that closes its sending side', (t) => halfClosed(t, open));
    await t.test('a refused request stays hidden from listeners', (t) => refused(t, port, ran, name));
    await t.test('a refusal to a client that does not read', (t) => unread(t, open, name));
    await t.test('a request with a readable head is accepted', (t) => readable(t, port, ran));
    await t.test('requests in pieces are read as whole ones', (t) => pieces(t, port, ran));
  });
}

/**
 * An edge that answers with the body and notes the paths that ran. It answers a head that must not run with its fault.
 */
async function record(t: Test, open: OpenEdge): Promise<{ port: number; ran: string[] }> {
  const ran: string[] = [];
  const { port } = await serve(t, open, {
    exchange: async (exchange) => {
      ran.push(exchange.path);
      const body = await exchange.body();
      exchange.respond(200, {}, body.kind === 'bytes' ? `${exchange.path}=${Buffer.from(body.bytes)};` : body.kind);
    },
    upgrade: (upgrade) => {
      ran.push(upgrade.path);
      upgrade.respond(404, {});
    },
    refuse: (request, fault) => request.respond(400, {}, `${request.method} ${request.path} ${fault};`),
  });
  return { port, ran };
}

async function healthy(t: Test, port: number): Promise<void> {
  const client = new RawClient(port);
  await client.send('GET /healthy HTTP/1.1\r\nHost: x\r\n\r\n');
  await client.until(/healthy=;$/);
  client.destroy();
  t.match(client.text, /^HTTP\/1.1 200/);
}

/**
 * The answer to a head that is not to run is the connection's last, and what comes behind it runs neither before nor
 * after it.
 */
async function refused(t: Test, port: number, ran: string[], engine: 'uws' | 'node'): Promise<void> {
  const [line, name] = faulty[engine];
  const socket =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n';
  const heads: readonly [text: string, fault: string][] = [
    [post('Transfer-Encoding: gzip, chunked', '0\r\n\r\n'), 'POST /outer Transfer-Encoding;'],
    [post('Transfer-Encoding: gzip, chunked', ''), 'POST /outer Transfer-Encoding;'],
    [`GET /outer HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`, `GET /outer ${name};`],
    [`HEAD /outer HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`, ''],
    [`GET /outer HTTP/1.1\r\nHost: x\r\n${line}\r\n${socket}\r\n`, `GET /outer ${name};`],
  ];
  for (const [text, fault] of heads) {
    for (const behind of ['', smuggled]) {
      const client = new RawClient(port);
      await client.send(text + behind);
      await client.closed;
      // Over what follows a parser may end the connection by itself.
      if (behind === '') {
        t.match(client.text, /^HTTP\/1\.1 400 [^]*\r\nconnection: close\r\n/i);
        t.equal(/\r\n\r\n([^]*?)(?:\r\n)?$/.exec(client.text)?.[1], fault);
      } else t.match(client.text, /^(HTTP\/1\.1 400 |$)/);
      t.same(ran.splice(0), [], 'nothing ran');
    }
    await t.test(`nothing comes later: ${fault}`, async (t) => {
      const client = new RawClient(port);
      await client.send(text);
      await client.until(/^HTTP/);
      client.socket.write(smuggled);
      await client.closed;
      t.same(ran.splice(0), []);
    });
  }
  await t.test('behind one that is still answered', async (t) => {
    const client = new RawClient(port);
    await client.send(`${post('Content-Length: 3', 'abc')}${heads[2]![0]}${smuggled}`);
    await client.closed;
    t.notOk(ran.splice(0).includes('/smuggled'));
    t.notMatch(client.text, /smuggled/);
  });
}

/** An engine with unsent answers for a client that does not read must still not run a request behind a refused head. */
async function unread(t: Test, open: OpenEdge, engine: 'uws' | 'node'): Promise<void> {
  const ran: string[] = [];
  const big = Buffer.alloc(60 * 1024, 'x');
  const { port } = await serve(t, open, {
    exchange: (exchange) => {
      ran.push(exchange.path);
      exchange.respond(200, {}, big);
    },
    refuse: (request, fault) => request.respond(400, {}, fault),
  });
  const client = new RawClient(port);
  client.socket.pause();
  for (let count = 0; count < 20; count++) await client.send('GET /big HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(10));
  await client.send(`GET /outer HTTP/1.1\r\nHost: x\r\n${faulty[engine][0]}\r\n\r\n`);
  client.socket.write(smuggled);
  client.socket.resume();
  await client.closed;
  t.notOk(ran.includes('/smuggled'));
}

async function readable(t: Test, port: number, ran: string[]): Promise<void> {
  const answered = async (text: string, pattern: RegExp): Promise<void> => {
    const client = new RawClient(port);
    await client.send(text);
    await client.until(pattern);
    client.destroy();
    await client.closed;
  };
  await answered(post('Transfer-Encoding: chunked', '3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n'), /outer=abcde;$/);
  await answered(post('transfer-ENCODING:chunked', '3\r\nabc\r\n0\r\n\r\n'), /outer=abc;$/);
  for (const value of ['Chunked', 'CHUNKED', 'chunkeD', '  Chunked '])
    await answered(post(`Transfer-Encoding: ${value}`, '3\r\nabc\r\n0\r\n\r\n'), /outer=abc;$/);
  await answered(post('content-LENGTH:   3  ', 'abc'), /outer=abc;$/);
  await answered(post('Content-Length: 0003', 'abc'), /outer=abc;$/);
  await answered("GET /outer HTTP/1.1\r\nHost: x\r\nX_!#$%&'*+.^`|~1: y\r\n\r\n", /outer=;$/);
  await answered(`GET /outer HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(80)}\r\n`, /outer=;$/);
  await answered(`GET /outer HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`, /outer=;$/);
  t.same(
    ran.splice(0),
    Array.from({ length: 11 }, () => '/outer'),
  );

  await t.test('a body on the same connection ends where it ends', async (t) => {
    await answered(
      post(`Content-Length: ${smuggled.length}`, smuggled) + 'GET /next HTTP/1.1\r\nHost: x\r\n\r\n',
      /outer=GET \/smuggled[^]*;/,
    );
    t.notOk(ran.splice(0).includes('/smuggled'));
  });

  await t.test('HTTP/1.0 is answered or refused', async (t) => {
    const client = new RawClient(port);
    await client.send('GET /outer HTTP/1.0\r\nHost: x\r\n\r\n');
    await client.closed;
    t.match(client.text, /^HTTP\/1.1 (200|505)/);
    await healthy(t, port);
    ran.length = 0;
  });

  await t.test('a target with a host in it is understood or refused', async (t) => {
    const client = new RawClient(port);
    await client.send('GET http://x/outer HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await client.closed;
    t.match(client.text, /\r\n\/outer=;$|^HTTP\/1.1 (400|505)/);
    await healthy(t, port);
    ran.length = 0;
  });

  await t.test('a pipelined pair is answered in order, or the connection is closed', async (t) => {
    const client = new RawClient(port);
    await client.send(`${post('Content-Length: 3', 'abc')}GET /next HTTP/1.1\r\nHost: x\r\n\r\n`);
    await Promise.race([client.closed, client.until(/next=;/)]);
    t.notMatch(client.text, /next=;[^]*outer=/);
    client.destroy();
    await healthy(t, port);
    ran.length = 0;
  });
}

async function pieces(t: Test, port: number, ran: string[]): Promise<void> {
  await t.test('a head in two segments', async (t) => {
    const client = new RawClient(port);
    await client.send('POST /outer HTTP/1.1\r\nHost: x\r\nContent-Le');
    await healthy(t, port);
    await client.send('ngth: 3\r\n\r\nabc');
    await client.until(/outer=abc;$/);
    client.destroy();
    ran.length = 0;
  });

  await t.test('a request line in two segments, cut anywhere', async (t) => {
    const text = 'GET /outer HTTP/1.1\r\nHost: x\r\n\r\n';
    for (let cut = 1; cut < text.length; cut++) {
      const client = new RawClient(port);
      await client.send(text.slice(0, cut));
      await healthy(t, port);
      await client.send(text.slice(cut));
      await Promise.race([client.closed, client.until(/outer=;$/)]);
      t.match(client.text, /^HTTP\/1.1 200 /, `behind ${JSON.stringify(text.slice(0, cut))}`);
      client.destroy();
    }
    ran.length = 0;
  });

  await t.test('a body that trickles', async (t) => {
    for (const [framing, ...parts] of [
      ['Content-Length: 6', 'ab', 'cd', 'ef'],
      ['Transfer-Encoding: chunked', '6', '\r\nab', 'cdef\r', '\n0\r\n', '\r\n'],
    ]) {
      const client = new RawClient(port);
      await client.send(post(framing!, ''));
      for (const part of parts) {
        await healthy(t, port);
        await client.send(part);
      }
      await client.until(/outer=abcdef;$/);
      client.destroy();
    }
    ran.length = 0;
  });

  await t.test('a client that closes its sending side is answered or gone', async (t) => {
    for (const text of ['GET /outer HTTP/1.1\r\nHost: x\r\n\r\n', post('Content-Length: 6', 'abc'), 'GET /out']) {
      const client = new RawClient(port);
      await client.send(text);
      client.socket.end();
      await client.closed;
      t.match(client.text, /^$|^HTTP\/1.1 /);
      await healthy(t, port);
    }
    t.equal(ran.splice(0).filter((path) => path === '/outer').length <= 2, true);
  });

  await t.test('bodies that cannot be read', async (t) => {
    for (const [label, text] of Object.entries(bodies)) {
      const client = new RawClient(port);
      await client.send(text);
      await healthy(t, port);
      client.destroy();
      await client.closed;
      t.notOk(ran.splice(0).includes('/smuggled'), label);
    }
  });
}

/** A half-closed client counts as gone before the whole answer, though it could still read (docs/settings.md). */
async function halfClosed(t: Test, open: OpenEdge): Promise<void> {
  const [reached, gone] = [new EventEmitter(), new EventEmitter()];
  const { port } = await serve(t, open, {
    exchange(exchange) {
      if (exchange.path === '/healthy') return exchange.respond(200, {}, 'healthy=;');
      const outlet = exchange.path === '/streams' ? exchange.stream(200, {}) : null;
      outlet?.write('begun;');
      exchange.onGone(() => {
        if (outlet === null) exchange.respond(200, {}, 'too late');
        else outlet.end('too late');
        gone.emit('gone');
      });
      reached.emit(exchange.path);
    },
  });
  for (const path of ['/waits', '/streams']) {
    const client = new RawClient(port);
    const [isReached, isGone] = [once(reached, path), once(gone, 'gone')];
    await client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await isReached;
    if (path === '/streams') await client.until(/begun;/);
    client.socket.end();
    await isGone;
    await client.closed;
    t.notMatch(client.text, /too late/, path);
    t.equal(client.text === '', path === '/waits', path);
    await healthy(t, port);
  }
}
