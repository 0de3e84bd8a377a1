/**
 * Answers over a real connection, in pieces that no server would choose; and requests that must not say more than they
 * should.
 */
import t from 'tap';
import manifest from '../../../package.json' with { type: 'json' };
import { providerBounds, type ProviderHttp } from '../../../src/providers/client.ts';
import { ok, vectors } from '../model/answers.ts';
import { client, closed, ManualClock, type Hooks } from '../model/provider.ts';
import { answerOf, post, raw, type Raw } from './raw.ts';

const chunked = `${ok}transfer-encoding: chunked\r\n\r\n`;

/** Exchanges on another connection: after them all bytes sent before have arrived. */
async function meanwhile(t: Hooks, http: ProviderHttp): Promise<() => Promise<void>> {
  const others = await raw(t, ({ socket }) => void socket.write(answerOf('')));
  return async () => {
    for (let times = 0; times < 3; times++) await post(http, others.baseUrl).settled;
  };
}

t.test('the bytes of a request', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('')));
  const http = client(t);
  await post(http, `${server.baseUrl}//`, {
    headers: { authorization: 'Bearer caf\xe9\tx', 'x-empty': '' },
    body: '{"a":"größe"}',
  }).settled;
  t.equal(
    server.arrivals[0]!.text,
    `POST /v1/chat HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nconnection: keep-alive\r\nuser-agent: parley/${manifest.version}\r\nauthorization: Bearer caf\xe9\tx\r\nx-empty: \r\n` +
      `content-length: 15\r\n\r\n${Buffer.from('{"a":"größe"}').toString('latin1')}`,
  );
  await post(http, `http://127.0.0.1:${server.port}`, { body: Buffer.of(0, 255) }).settled;
  t.match(server.arrivals[1]!.text, /^POST \/chat HTTP[^]*\r\ncontent-length: 2\r\n\r\n\0\xff$/);
});

t.test('given values stay within their field of a request', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('')));
  const http = client(t);
  const values = [
    'a\r\nx-injected: 1',
    'a\nb',
    'a\rb',
    'a\0b',
    'a\x7fb',
    'a\x0bb',
    '日本',
    '\u0120',
    'a\r\n\r\nGET / HTTP/1.1',
  ];
  for (const value of values)
    t.equal(
      await post(http, server.baseUrl, { headers: { authorization: value } }).settled,
      'credential',
      JSON.stringify(value),
    );
  for (const name of ['a b', 'a:', '', 'a\r\nb', 'ä'])
    t.equal(await post(http, server.baseUrl, { headers: { [name]: 'x' } }).settled, 'credential', JSON.stringify(name));
  for (const path of ['/a b', '/a\r\nx: y', '/a\0', '/ä', '/a HTTP/1.1\r\n\r\nGET /'])
    t.equal(await post(http, server.baseUrl, { path }).settled, 'address', JSON.stringify(path));
  t.equal(server.sockets.length, 0);
  // The URL parser drops line ends and quotes the rest.
  for (const part of ['/v1\r\nx-injected: 1', '/v1 HTTP/1.1\r\nx-injected: 1', '/v1\tx', '/ü']) {
    t.equal(await post(http, `http://127.0.0.1:${server.port}${part}`).settled, 'ended', part);
    t.match(
      server.arrivals.at(-1)!.text,
      /^POST \/[!-~]+\/chat HTTP\/1.1\r\nhost: 127\.0\.0\.1:\d+\r\nconnection: keep-alive\r\nuser-agent: parley\/[\d.]+\r\nauthorization: Bearer k\r\ncontent-length: 2\r\n\r\n\{\}$/,
    );
  }
});

t.test('every answer of the parser, in one piece and byte by byte', async (t) => {
  const server = await raw(t, () => {});
  const http = client(t);
  for (const [name, [text, ending, body = '']] of Object.entries(vectors)) {
    for (const size of text.length < 200 ? [text.length, 1] : [text.length]) {
      server.answer = ({ socket }) => {
        const send = (from: number): void => {
          if (from >= text.length) return void socket.end();
          if (!socket.destroyed)
            socket.write(text.slice(from, from + size), 'latin1', () => setImmediate(() => send(from + size)));
        };
        send(0);
      };
      const told = post(http, server.baseUrl);
      const settled = await told.settled;
      t.equal(settled === 'redirect' ? 'ended' : settled, ending, `${name}, ${size} at a time`);
      t.equal(told.body, body, name);
      t.equal(told.endings.length, 1, name);
      await closed(server.sockets.at(-1)!);
    }
  }
});

t.test('answers side by side do not mix, though they are read into one buffer', async (t) => {
  const server = await raw(t, ({ socket, request }) => {
    let left = 50;
    socket.write(chunked);
    const send = (): void => {
      const piece = `${request}:${left};`.repeat(40);
      socket.write(`${piece.length.toString(16)}\r\n${piece.slice(0, 7)}`, () =>
        socket.write(`${piece.slice(7)}\r\n`, () => (--left > 0 ? send() : void socket.write('0\r\n\r\n'))),
      );
    };
    send();
  });
  const http = client(t);
  const all = Array.from({ length: 20 }, () => post(http, server.baseUrl));
  for (const told of all) {
    t.equal(await told.settled, 'ended');
    const own = told.body.slice(0, told.body.indexOf(':'));
    t.equal(told.body, Array.from({ length: 50 }, (_, index) => `${own}:${50 - index};`.repeat(40)).join(''));
  }
  t.equal(new Set(all.map(({ body }) => body)).size, all.length);
});

t.test('an answer that is held is not read until it goes on, whatever ends it', async (t) => {
  const http = client(t);
  const piece = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const server = await raw(t, ({ socket }) => void socket.write(chunked + piece('one')));
  const there = await meanwhile(t, http);
  for (const ending of ['end', 'cut', 'cancel'] as const) {
    const told = post(http, server.baseUrl);
    told.onData = () => told.call.hold();
    while (told.body === '') await there();
    const socket = server.sockets.at(-1)!;
    socket.write(piece('two'));
    await there();
    t.equal(told.body, 'one');
    told.call.resume();
    while (told.body === 'one') await there();
    t.equal(told.body, 'onetwo');
    if (ending === 'end') socket.write(`${piece('three')}0\r\n\r\n`);
    else if (ending === 'cut') socket.end(piece('three'));
    await there();
    t.same([told.body, told.endings], ['onetwo', []]);
    told.onData = () => {};
    if (ending === 'cancel') told.call.cancel();
    else told.call.resume();
    if (ending === 'cancel') await closed(socket);
    else t.equal(await told.settled, ending === 'end' ? 'ended' : 'cut');
    t.equal(told.body, ending === 'cancel' ? 'onetwo' : 'onetwothree');
    told.call.resume();
  }
  // Kept by the first and used by the second.
  t.equal(server.sockets.length, 2);
});

t.test('a connection that was held is heard when it is kept: its server may close it', async (t) => {
  const http = client(t);
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('x')));
  const told = post(http, server.baseUrl);
  told.onData = () => told.call.hold();
  t.equal(await told.settled, 'ended');
  const before = server.sockets[0]!;
  before.end();
  await closed(before);
  t.equal(await post(http, server.baseUrl).settled, 'ended');
  t.equal(server.sockets.length, 2);
});

t.test('an answer that is over for its reader is drained though it was held, and its connection kept', async (t) => {
  const http = client(t);
  const there = await meanwhile(t, http);
  let rest!: () => void;
  const server = await raw(t, ({ socket }) => {
    socket.write(`${chunked}3\r\none\r\n`);
    rest = () => void socket.write('0\r\n\r\n');
  });
  for (let turn = 0; turn < 2; turn++) {
    const told = post(http, server.baseUrl);
    told.onData = () => {
      told.call.hold();
      told.call.release();
    };
    await told.has('one');
    rest();
    // Before the connection is back in the pool the next request would open another one.
    await there();
  }
  t.equal(server.sockets.length, 1);
});

t.test('a server that has sent all that it will in the middle of an answer', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.end(`${chunked}5\r\nhel`));
  const told = post(client(t), server.baseUrl);
  t.equal(await told.settled, 'cut');
  t.equal(told.body, 'hel');
  await closed(server.sockets[0]!);
});

t.test('a server that is done before it has read the request', async (t) => {
  const server = await raw(t, () => {});
  const told = post(client(t), server.baseUrl, { body: new Uint8Array(64 * 1024 * 1024) });
  while (server.sockets.length === 0) await new Promise((resolve) => setImmediate(resolve));
  server.sockets[0]!.pause().end('HTTP/1.1 200 OK\r\n');
  t.equal(await told.settled, 'cut');
});

t.test('the body of a refusal is drained up to its bound, to the byte', async (t) => {
  for (const over of [0, 1]) {
    const max = 1000;
    const server = await raw(
      t,
      ({ socket }) => void socket.write(answerOf('x'.repeat(max + over)).replace('200', '503')),
    );
    const http = client(t, { errorBytesMax: max });
    const told = post(http, server.baseUrl);
    t.equal(await told.settled, 'status');
    t.equal(told.status, 503);
    if (over > 0) await closed(server.sockets[0]!);
    else await Promise.all([post(http, server.baseUrl).settled, post(http, server.baseUrl).settled]);
    t.equal(server.sockets[0]!.closed, over > 0);
    t.equal(told.body, '', 'nobody hears it');
  }
});

t.test('the next address of a name, when one does not answer', async (t) => {
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('hi')));
  const addresses = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));
  const told = post(
    client(t, {}, { lookup: (_name, _options, callback) => callback(null, addresses) }),
    `http://two.test:${server.port}`,
  );
  t.equal(await told.settled, 'ended');
  t.equal(told.body, 'hi');
});

t.test('a refusal has the grace to say the rest, whatever is left of the silence', async (t) => {
  const clock = new ManualClock();
  const server = await raw(t, ({ socket }) => void socket.write(answerOf('ab').replace('200', '502').slice(0, -1)));
  const http = client(t, { silenceMs: 100, graceMs: 5000 }, { clock });
  t.equal(await post(http, server.baseUrl).settled, 'status');
  clock.advance(100);
  server.sockets[0]!.write('b');
  server.answer = ({ socket }) => void socket.write(answerOf('hi'));
  await post(http, server.baseUrl).settled;
  await Promise.all([post(http, server.baseUrl).settled, post(http, server.baseUrl).settled]);
  t.equal(server.sockets.length, 2, 'the first connection is used again');
});

t.test('a wait that follows a shorter one sets no timer of its own', async (t) => {
  let set = 0;
  const clock = new (class extends ManualClock {
    override after(delayMs: number, callback: () => void) {
      set++;
      return super.after(delayMs, callback);
    }
  })();
  const server = await raw(t, ({ socket }) => void socket.write(`${chunked}1\r\na\r\n`));
  const told = post(client(t, { silenceMs: 100, graceMs: 100 }, { clock }), server.baseUrl);
  await told.has('a');
  const before = set;
  told.call.outputBegan();
  told.call.release();
  t.equal(set, before);
});

t.test('one timer waits, for whichever bound is next', async (t) => {
  const clock = new ManualClock();
  let send: (text: string) => void = () => {};
  const server: Raw = await raw(t, ({ socket }) => {
    send = (text) => void socket.write(text);
    send(`${chunked}1\r\na\r\n`);
  });
  const http = client(t, { ...providerBounds, silenceMs: 100 }, { clock });
  const told = post(http, server.baseUrl);
  await told.has('a');
  t.equal(clock.timers, 1);
  clock.advance(60);
  told.call.outputBegan();
  send('1\r\nb\r\n');
  await told.has('ab');
  clock.advance(60);
  t.same(told.endings, []);
  t.equal(clock.timers, 1);
  clock.advance(39);
  t.same(told.endings, []);
  clock.advance(1);
  t.same(told.endings, ['idle_timeout']);
  await closed(server.sockets[0]!);
  t.equal(clock.timers, 0);
});

t.test('a released connection is closed after the grace, though the peer keeps sending', async (t) => {
  const clock = new ManualClock();
  const server = await raw(t, ({ socket }) => void socket.write(`${chunked}1\r\na\r\n`));
  const told = post(client(t, { graceMs: 100 }, { clock }), server.baseUrl);
  await told.has('a');
  told.call.release();
  clock.advance(99);
  await new Promise<void>((resolve) => server.sockets[0]!.write('1\r\nb\r\n', () => resolve()));
  clock.advance(1);
  await closed(server.sockets[0]!);
  t.same(told.endings, []);
  t.equal(clock.timers, 0);
});

t.test('whatever arrives counts as life, before the first output as after it', async (t) => {
  const clock = new ManualClock();
  const server = await raw(t, ({ socket }) => void socket.write(chunked));
  const there = await meanwhile(t, client(t));
  for (const began of [false, true]) {
    const told = post(client(t, { silenceMs: 100 }, { clock }), server.baseUrl);
    while (told.contentType === null) await there();
    if (began) told.call.outputBegan();
    let body = '';
    for (const piece of [':', '\n', 'data: ping\n\n', ' ', '{']) {
      clock.advance(99);
      server.sockets.at(-1)!.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      await told.has((body += piece));
    }
    clock.advance(99);
    t.same(told.endings, []);
    clock.advance(1);
    t.same(told.endings, [began ? 'idle_timeout' : 'first_output_timeout']);
  }
});

t.test('after the output there is the grace, though the provider keeps talking or is not read', async (t) => {
  const clock = new ManualClock();
  const server = await raw(t, ({ socket }) => void socket.write(chunked));
  const there = await meanwhile(t, client(t));
  for (const held of [false, true]) {
    const told = post(client(t, { silenceMs: 1000, graceMs: 100 }, { clock }), server.baseUrl);
    while (told.contentType === null) await there();
    told.call.outputEnded();
    if (held) told.call.hold();
    clock.advance(99);
    server.sockets.at(-1)!.write('1\r\n:\r\n');
    if (!held) await told.has(':');
    clock.advance(1);
    t.same(told.endings, held ? [] : ['idle_timeout']);
    told.call.resume();
    if (held) await told.has(':');
    clock.advance(99);
    t.same(told.endings, held ? [] : ['idle_timeout']);
    clock.advance(1);
    t.same(told.endings, ['idle_timeout']);
  }
});
