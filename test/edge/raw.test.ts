import t from 'tap';
import type { Test } from 'tap';
import { openNodeEdge } from '../../src/edge/node.ts';
import { openUwsEdge } from '../../src/edge/uws.ts';
import { RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';

/** The request that must never run: it hides in what one reader takes for a body and another for what follows it. */
const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n';
const size = smuggled.length;
const chunked = `0\r\n\r\n${smuggled}`;

const post = (lines: string, rest: string): string => `POST /outer HTTP/1.1\r\nHost: x\r\n${lines}\r\n\r\n${rest}`;

/** Heads that two readers could understand differently: neither they nor what follows may run. */
const ambiguous: Record<string, string> = {
  'two lengths that differ': post(`Content-Length: 0\r\nContent-Length: ${size}`, smuggled),
  'two lengths that differ, the other way round': post(`Content-Length: ${size}\r\nContent-Length: 0`, smuggled),
  'the same length twice': post('Content-Length: 0\r\nContent-Length: 0', smuggled),
  'two lengths on one line': post(`Content-Length: 0, ${size}`, smuggled),
  'an empty length': post('Content-Length:', smuggled),
  'an empty length before a full one': post(`Content-Length: \r\nContent-Length: ${size}`, smuggled),
  'a length with a sign': post(`Content-Length: +${size}`, smuggled),
  'a negative length': post('Content-Length: -1', smuggled),
  'a length in hexadecimal': post('Content-Length: 0x0', smuggled),
  'a length with a space in it': post('Content-Length: 0 0', smuggled),
  'a length beyond counting': post('Content-Length: 18446744073709551616', smuggled),
  'a length and chunks': post(`Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked`, chunked),
  'chunks and a length': post('Transfer-Encoding: chunked\r\nContent-Length: 5', chunked),
  'chunks and an empty length': post('Transfer-Encoding: chunked\r\nContent-Length:', chunked),
  'an empty encoding and a length': post(`Transfer-Encoding:\r\nContent-Length: 5`, chunked),
  'chunked, identity': post('Transfer-Encoding: chunked, identity', chunked),
  'identity, chunked': post('Transfer-Encoding: identity, chunked', chunked),
  'gzip, chunked': post('Transfer-Encoding: gzip, chunked', chunked),
  identity: post('Transfer-Encoding: identity', chunked),
  xchunked: post('Transfer-Encoding: xchunked', chunked),
  'chunked in quotes': post('Transfer-Encoding: "chunked"', chunked),
  'the encoding twice': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked', chunked),
  'the encoding twice, differently': post('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity', chunked),
  'a vertical tab before the encoding': post('Transfer-Encoding: \x0bchunked', chunked),
  'a space before the colon': post(`Transfer-Encoding : chunked\r\nContent-Length: ${chunked.length}`, chunked),
  'a tab before the colon': post('Transfer-Encoding\t: chunked', chunked),
  'the encoding on a folded line': post('Transfer-Encoding:\r\n chunked', chunked),
  'a folded line that is a length': post(`X: y\r\n Content-Length: ${size}`, smuggled),
  'bare line feeds': `POST /outer HTTP/1.1\nHost: x\nContent-Length: ${size}\n\n${smuggled}`,
  'a bare line feed in the head': post(`X: y\nContent-Length: ${size}`, smuggled),
  'a bare carriage return in a value': post(`X: y\rContent-Length: ${size}`, smuggled),
  'a NUL in a value': post(`X: y\x00\r\nContent-Length: 0`, smuggled),
};

/** What a parser may refuse, or an engine may not understand; it is neither to run nor to harm. */
const unreadable: Record<string, string> = {
  'no host': `GET /outer HTTP/1.1\r\n\r\n${smuggled}`,
  'two hosts': `GET /outer HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n${smuggled}`,
  'garbage for a first line': `\x16\x03\x01\x02\x00\x01\x00\r\n\r\n${smuggled}`,
  'words for a first line': `hello there general\r\nHost: x\r\n\r\n${smuggled}`,
  'HTTP/2.0': `GET /outer HTTP/2.0\r\nHost: x\r\n\r\n${smuggled}`,
  'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a head that is too large': `GET /outer HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(17_000)}\r\n\r\n${smuggled}`,
  'many lines that are too large': `GET /outer HTTP/1.1\r\nHost: x\r\n${`X: ${'x'.repeat(1000)}\r\n`.repeat(17)}\r\n${smuggled}`,
  'too many lines': `GET /outer HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(91)}\r\n${smuggled}`,
  'far too many lines': `GET /outer HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(500)}\r\n${smuggled}`,
};

for (const [name, open] of [['node', openNodeEdge], ['uws', openUwsEdge]] as const) {
  await t.test(name, async (t) => {
    const { port, ran } = await record(t, open);
    const refuse = async (t: Test, text: string): Promise<void> => {
      const client = new RawClient(port);
      await client.send(text);
      // Some of these an engine only drops when its client has been silent for long; a healthy round trip is the proof
      // that whatever it makes of the bytes has been made.
      await healthy(t, port);
      await healthy(t, port);
      client.destroy();
      await client.closed;
      t.same(ran.splice(0).filter((path) => path !== '/healthy'), [], 'nothing ran');
    };
    await t.test('ambiguous framing', async (t) => {
      for (const [label, text] of Object.entries(ambiguous)) await t.test(label, (t) => refuse(t, text));
    });
    await t.test('unreadable heads', async (t) => {
      for (const [label, text] of Object.entries(unreadable)) await t.test(label, (t) => refuse(t, text));
    });
    await t.test('readable ones', (t) => readable(t, port, ran));
    await t.test('pieces and halves', (t) => pieces(t, port, ran));
  });
}

/** An edge that answers with the body and notes the paths that ran. */
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
  await answered(post('content-LENGTH:   3  ', 'abc'), /outer=abc;$/);
  await answered(post('Content-Length: 0003', 'abc'), /outer=abc;$/);
  await answered(`GET /outer HTTP/1.1\r\nHost: x\r\n${'X: y\r\n'.repeat(80)}\r\n`, /outer=;$/);
  await answered(`GET /outer HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(15_000)}\r\n\r\n`, /outer=;$/);
  t.same(ran.splice(0), Array.from({ length: 6 }, () => '/outer'));

  await t.test('a body on the same connection ends where it ends', async (t) => {
    await answered(post(`Content-Length: ${size}`, smuggled) + 'GET /next HTTP/1.1\r\nHost: x\r\n\r\n', /outer=GET \/smuggled[^]*;/);
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

  await t.test('a request line in two segments is answered or refused, once', async (t) => {
    const client = new RawClient(port);
    await client.send('GET /ou');
    await healthy(t, port);
    await client.send('ter HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.race([client.closed, client.until(/outer=;$/)]);
    t.match(client.text, /^HTTP\/1.1 (200|400|505)/);
    client.destroy();
    await healthy(t, port);
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

  await t.test('chunks that cannot be read', async (t) => {
    for (const rest of ['zz\r\nabc\r\n', '3\r\nabcdef', '-1\r\nabc\r\n', 'fffffffffffffffff\r\nabc']) {
      const client = new RawClient(port);
      await client.send(post('Transfer-Encoding: chunked', rest + smuggled));
      await healthy(t, port);
      client.destroy();
      await client.closed;
      t.notOk(ran.splice(0).includes('/smuggled'));
    }
  });
}
