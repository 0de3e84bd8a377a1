import { Agent } from 'node:http';
import type { Test } from 'tap';
import type { Exchange, Outlet } from '../../../src/base/edge.ts';
import { WheelClock } from '../../../src/base/clock.ts';
import { bodies } from './bodies.ts';
import { ask, bounds, deaf, gate, RawClient, serve } from './harness.ts';
import type { OpenEdge } from './harness.ts';
import { chunkedEnd, lastStreams } from './last-streams.ts';
import { slowReaders } from './slow-readers.ts';
import { streams } from './streams.ts';
import { unreadAnswers } from './unread-answers.ts';

/** The edge's contract for HTTP, which every engine must keep. `sockets.ts` holds the part about WebSockets. */
export async function edgeContract(t: Test, open: OpenEdge): Promise<void> {
  await t.test('requests reach the listener as they were sent', (t) => requests(t, open));
  await t.test('whole answers reach the client as they were given', (t) => wholeAnswers(t, open));
  await t.test('bodies arrive whole, or are refused', (t) => bodies(t, open));
  await t.test('streams arrive piece by piece', (t) => streams(t, open));
  await t.test('slow readers hold back their own stream alone', (t) => slowReaders(t, open));
  await t.test('answers that nobody reads', (t) => unreadAnswers(t, open));
  await t.test('faults of the house', (t) => faults(t, open));
  await t.test('an edge listens, closes and frees its port', async (t) => {
    await closing(t, open);
    await draining(t, open);
  });
  await t.test('streams while it closes', (t) => lastStreams(t, open));
}

async function requests(t: Test, open: OpenEdge): Promise<void> {
  const seen: Exchange[] = [];
  const { port } = await serve(t, open, {
    exchange: (exchange) => {
      seen.push(exchange);
      exchange.respond(200, {}, 'ok');
    },
  });
  const last = (): Exchange => seen.at(-1)!;

  await t.test('the target stays as it was sent', async (t) => {
    await ask(port, { path: '/a%20b/%2F..//c?x=%20&y=?&z' });
    t.equal(last().path, '/a%20b/%2F..//c');
    t.equal(last().query, 'x=%20&y=?&z');
    await ask(port, { path: '/' });
    t.equal(last().path, '/');
    t.equal(last().query, '');
  });

  await t.test('every method arrives', async (t) => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND']) {
      const answer = await ask(port, { method });
      t.equal(answer.status, 200);
      t.equal(last().method, method);
    }
  });

  await t.test('repeated headers are several values', async (t) => {
    await ask(port, { headers: { 'X-Api-Key': ['one', 'two, three'], Authorization: ['a', 'b'], 'x-empty': '' } });
    t.same(last().headers('x-api-key'), ['one', 'two, three']);
    t.same(last().headers('authorization'), ['a', 'b']);
    t.same(last().headers('x-empty'), ['']);
    t.same(last().headers('x-absent'), []);
  });

  await t.test('header values keep all but the spaces around them', async (t) => {
    const client = new RawClient(port);
    await client.send(
      'GET / HTTP/1.1\r\nHost: x\r\nX-One: \t a \t b \t \r\nX-Two:caf\xe9s\r\nX-Two: \xc3\xa9, \xe9x\r\n\r\n',
    );
    await client.until(/ok$/);
    t.same(last().headers('x-one'), ['a \t b']);
    t.equal(last().headers('x-two')[0], 'caf\xe9s', 'one character a byte');
    client.destroy();
  });

  await t.test('the address of the peer is text', async (t) => {
    await ask(port);
    t.equal(last().remoteAddress, '127.0.0.1');
  });

  await t.test('the head stays readable after the answer', async (t) => {
    await ask(port, { path: '/kept?q', headers: { 'x-kept': 'yes' } });
    const kept = last();
    await ask(port, { path: '/other' });
    t.same([kept.path, kept.query, kept.headers('x-kept'), kept.remoteAddress], ['/kept', 'q', ['yes'], '127.0.0.1']);
  });
}

async function wholeAnswers(t: Test, open: OpenEdge): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const large = Buffer.alloc(8 * 1024 * 1024, 'parley ');
  let refusal: unknown = null;
  const smuggled = 'a\r\nset-cookie: b';
  const { port } = await serve(t, open, {
    exchange: async (exchange) => {
      if (exchange.query === 'later') await Promise.resolve();
      if (exchange.path === '/text')
        exchange.respond(201, { 'x-one': '1', 'content-type': 'text/plain; charset=utf-8' }, 'čaj 🍵');
      if (exchange.path === '/bytes') exchange.respond(200, {}, new Uint8Array([0, 255, 128]));
      if (exchange.path === '/none') exchange.respond(204, {});
      if (exchange.path === '/same') exchange.respond(304, { etag: '"1"' });
      if (exchange.path === '/empty') exchange.respond(404, {});
      if (exchange.path === '/large') exchange.respond(200, {}, large);
      if (exchange.path === '/latin') exchange.respond(200, { 'x-name': 'caf\xe9' });
      if (exchange.path === '/lines') exchange.respond(200, { 'set-cookie': ['a=1', 'b=caf\xe9'] });
      if (exchange.path !== '/bad') return;
      try {
        exchange.respond(200, exchange.query === 'list' ? { 'x-bad': ['a', smuggled] } : { 'x-bad': smuggled });
      } catch (error) {
        refusal = error;
        exchange.respond(500, {});
      }
    },
  });

  for (const query of ['', '?later']) {
    await t.test(`status, headers and bytes ${query}`, async (t) => {
      const answer = await ask(port, { path: `/text${query}`, agent });
      t.equal(answer.status, 201);
      t.equal(answer.text, 'čaj 🍵');
      t.equal(answer.headers['content-length'], '9');
      t.equal(answer.headers['x-one'], '1');
      const known = ['x-one', 'content-type', 'content-length', 'date', 'connection', 'keep-alive'];
      t.same(
        Object.keys(answer.headers).filter((name) => !known.includes(name)),
        [],
        'nothing else is added',
      );
      t.same([...(await ask(port, { path: `/bytes${query}`, agent })).bytes], [0, 255, 128]);
    });

    await t.test(`answers without a body leave the connection usable ${query}`, async (t) => {
      const head = await ask(port, { method: 'HEAD', path: `/text${query}`, agent });
      t.equal(head.headers['content-length'], '9');
      t.equal(head.bytes.length, 0);
      const none = await ask(port, { path: `/none${query}`, agent });
      t.equal(none.status, 204);
      t.notOk('content-length' in none.headers || 'transfer-encoding' in none.headers);
      const same = await ask(port, { path: `/same${query}`, agent });
      t.equal(same.status, 304);
      t.notOk('content-length' in same.headers);
      const empty = await ask(port, { path: `/empty${query}`, agent });
      t.equal(empty.headers['content-length'], '0');
      for (const { localPort } of [none, same, empty]) t.equal(localPort, head.localPort);
    });

    await t.test(`a large answer arrives whole ${query}`, async (t) => {
      const answer = await ask(port, { path: `/large${query}`, agent });
      t.ok(answer.bytes.equals(large));
      t.equal((await ask(port, { path: '/empty', agent })).localPort, answer.localPort);
    });
  }

  await t.test('header values leave as Latin-1, and nothing else leaves', async (t) => {
    t.equal((await ask(port, { path: '/latin' })).headers['x-name'], 'caf\xe9');
    t.same((await ask(port, { path: '/lines' })).headers['set-cookie'], ['a=1', 'b=caf\xe9']);
    for (const query of ['', '?list']) {
      refusal = null;
      const answer = await ask(port, { path: `/bad${query}` });
      t.ok(refusal instanceof TypeError);
      t.equal(answer.status, 500);
      t.notOk('set-cookie' in answer.headers);
    }
  });
}

async function faults(t: Test, open: OpenEdge): Promise<void> {
  const warnings: string[] = [];
  const warn = (warning: Error): number =>
    warnings.push(`${warning.message} ${(warning as Error & { detail?: string }).detail}`);
  process.on('warning', warn);
  t.teardown(() => process.off('warning', warn));
  const { port } = await serve(t, open, {
    exchange: (exchange) => {
      const fault = (): never => {
        throw new Error('a secret');
      };
      if (exchange.path === '/throw') fault();
      if (exchange.path === '/reject') return Promise.reject(new Error('a secret'));
      if (exchange.path === '/gone') return exchange.onGone(fault);
      if (exchange.path === '/midway') {
        exchange.stream(200, {}).write('begun');
        fault();
      }
      exchange.respond(200, {}, 'well');
      if (exchange.path === '/twice') exchange.respond(200, {}, 'again');
    },
  });
  for (const path of ['/throw', '/reject', '/midway']) {
    await t.test(`${path} ends its connection alone`, async (t) => {
      await t.rejects(ask(port, { path }));
      t.equal((await ask(port)).text, 'well');
    });
  }
  await t.test('a callback that throws leaves other readers unharmed', async (t) => {
    const client = new RawClient(port);
    await client.send('GET /gone HTTP/1.1\r\nHost: x\r\n\r\n');
    client.destroy();
    await client.closed;
    t.equal((await ask(port)).text, 'well');
  });
  await t.test('a second answer is refused', async (t) => {
    const before = warnings.length;
    await ask(port, { path: '/twice' }).catch(() => {});
    t.equal((await ask(port)).text, 'well');
    t.equal(warnings.length, before + 1);
  });
  await t.test('faults are told without what they quote', async (t) => {
    t.ok(warnings.length >= 3);
    for (const warning of warnings) {
      t.match(warning, /contract\.ts/);
      t.notMatch(warning, /secret/);
    }
  });
}

async function closing(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a port in use is an error that says so', async (t) => {
    const { port } = await serve(t, open, {});
    const clock = new WheelClock();
    const second = await open(deaf, bounds, clock);
    await t.rejects(second.listen('127.0.0.1', port), { code: 'EADDRINUSE' });
    await t.rejects(second.listen('203.0.113.1', 0), { code: 'EADDRNOTAVAIL' });
    await second.close(0);
    clock.stop();
    const freed = await serve(t, open, {});
    await freed.edge.close(0);
    const third = await open(deaf, bounds, clock);
    const fourth = await open(deaf, bounds, clock);
    t.equal(await third.listen('127.0.0.1', freed.port), freed.port, 'a port of our choice');
    await t.rejects(fourth.listen('127.0.0.1', freed.port), { code: 'EADDRINUSE' }, 'is not shared');
    await Promise.all([third.close(0), fourth.close(0)]);
  });

  await t.test('an idle connection ends, and nothing listens any more', async (t) => {
    const { port, edge } = await serve(t, open, { exchange: (exchange) => exchange.respond(200, {}, 'ok') });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until(/ok$/);
    await Promise.all([edge.close(60_000), client.closed]);
    await t.rejects(ask(port), { code: 'ECONNREFUSED' });
    await edge.close(60_000);
  });
}

async function draining(t: Test, open: OpenEdge): Promise<void> {
  await t.test('a connection that is open when it stops listening is served once more', async (t) => {
    const { port, edge } = await serve(t, open, { exchange: (exchange) => exchange.respond(200, {}, exchange.path) });
    const [client, asker] = [new RawClient(port), new RawClient(port)];
    for (const each of [client, asker]) {
      await each.send('GET /before HTTP/1.1\r\nHost: x\r\n\r\n');
      await each.until(/before$/);
    }
    edge.stopListening();
    await t.rejects(ask(port), { code: 'ECONNREFUSED' });
    await client.send('GET /after HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.closed;
    t.match(client.text, /before[^]*connection: close\r\n[^]*after$/i);
    await asker.send('HEAD /after HTTP/1.1\r\nHost: x\r\n\r\n');
    await asker.until(/before[^]*connection: close\r\n[^]*\r\n\r\n$/i);
    asker.destroy();
    await edge.close(60_000);
  });

  await t.test('running requests finish, and close their connections', async (t) => {
    const outlet = gate<Outlet>();
    const waiting = gate<Exchange>();
    const { port, edge } = await serve(t, open, {
      exchange: (exchange) => {
        if (exchange.path === '/whole') return waiting.open(exchange);
        const stream = exchange.stream(200, {});
        stream.write('begun');
        outlet.open(stream);
      },
    });
    const stream = new RawClient(port);
    const whole = new RawClient(port);
    await stream.send('GET /stream HTTP/1.1\r\nHost: x\r\n\r\n');
    await whole.send('GET /whole HTTP/1.1\r\nHost: x\r\n\r\n');
    const [running, held] = await Promise.all([outlet.promise, waiting.promise, stream.until(/begun/)]);
    let over = false;
    const closed = edge.close(60_000).then(() => (over = true));
    await t.rejects(ask(port), { code: 'ECONNREFUSED' });
    t.equal(over, false);
    held.respond(200, {}, 'answered');
    await whole.closed;
    t.match(whole.text, /connection: close\r\n[^]*answered$/i);
    t.equal(over, false);
    running.end(' and done');
    await Promise.all([closed, stream.closed]);
    t.match(stream.text, /begun[^]* and done\r\n0/);
    t.match(stream.text, chunkedEnd);
  });

  await t.test('requests that outlast the grace are cut', async (t) => {
    const gone = gate();
    const came = gate();
    const { port, edge } = await serve(t, open, {
      exchange: (exchange) => {
        exchange.onGone(() => gone.open());
        came.open();
      },
    });
    const client = new RawClient(port);
    await client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await came.promise;
    await Promise.all([edge.close(40), gone.promise, client.closed]);
    t.equal(client.text, '');
  });
}
