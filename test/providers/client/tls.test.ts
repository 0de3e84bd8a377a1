/** TLS to providers: always verified, the name included, and resumed. */
import type { LookupAddress } from 'node:dns';
import { createServer, type TLSSocket } from 'node:tls';
import t from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { providerHttp, type ProviderHttp } from '../../../src/providers/client.ts';
import { certificate, privateKey } from './certificate.ts';
import { closed, ManualClock, type Hooks } from '../model/provider.ts';
import { answerOf, post, raw, type Raw } from './raw.ts';

const answering: Raw['answer'] = ({ socket }) => void socket.write(answerOf('hi'));

const serving = (t: Hooks, answer: Raw['answer'] = answering): Promise<Raw> =>
  raw(
    t,
    answer,
    createServer({ cert: certificate, key: privateKey, ALPNProtocols: ['h2', 'http/1.1'] }).on(
      'tlsClientError',
      () => {},
    ),
    'secureConnection',
  );

/** Every name leads to this machine. */
function client(t: Hooks, { ca, clock = new WheelClock() }: { ca?: string; clock?: Clock } = {}): ProviderHttp {
  const lookup = (_name: string, _options: object, callback: (error: null, addresses: LookupAddress[]) => void): void =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const http = providerHttp({ clock, allowPrivate: true, lookup, ...(ca !== undefined && { ca }) });
  t.teardown(async () => {
    await http.close();
    clock.stop();
  });
  return http;
}

const urlOf = (server: Raw, host = 'provider.test'): string => `https://${host}:${server.port}/v1`;

t.test('a trusted certificate of the right name', async (t) => {
  const server = await serving(t);
  const http = client(t, { ca: certificate });
  for (let turn = 0; turn < 3; turn++) {
    const told = post(http, urlOf(server));
    t.equal(await told.settled, 'ended');
    t.equal(told.body, 'hi');
  }
  t.equal(server.sockets.length, 1, 'kept');
  const socket = server.sockets[0] as TLSSocket & { servername: string };
  t.equal(socket.servername, 'provider.test', 'the name is told to the server');
  t.equal(socket.alpnProtocol, 'http/1.1');
  t.match(server.arrivals[0]!.text, `host: provider.test:${server.port}\r\n`);
  t.equal(await post(http, urlOf(server, 'provider.test.')).settled, 'ended', 'a name with its root');
  t.equal((server.sockets[1] as typeof socket).servername, 'provider.test');
});

t.test('an answer that is held again and again loses nothing, what was decrypted already included', async (t) => {
  const pieces = Array.from({ length: 300 }, (_, index) => `${index};`.repeat(1 + (index % 400)));
  const server = await serving(t, ({ socket }) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${pieces.join('').length}\r\n\r\n`);
    // Several records in one packet, and one after another.
    const send = (from: number): void => {
      if (from >= pieces.length) return;
      socket.cork();
      for (const piece of pieces.slice(from, from + 7)) socket.write(piece);
      socket.uncork();
      setImmediate(() => send(from + 7));
    };
    send(0);
  });
  const http = client(t, { ca: certificate });
  for (let turn = 0; turn < 2; turn++) {
    const told = post(http, urlOf(server));
    let holds = 0;
    told.onData = () => {
      told.call.hold();
      holds++;
      setImmediate(() => told.call.resume());
    };
    t.equal(await told.settled, 'ended');
    t.equal(told.body, pieces.join(''));
    t.ok(holds > 10);
  }
  t.equal(server.sockets.length, 1, 'kept');
});

t.test('a certificate that nobody signed is refused, and nothing is sent', async (t) => {
  const server = await serving(t);
  const http = client(t);
  t.equal(await post(http, urlOf(server)).settled, 'connect');
  t.equal(await post(http, urlOf(server)).settled, 'connect');
  t.equal(server.arrivals.length, 0);
});

t.test('the environment cannot switch verification off', async (t) => {
  const server = await serving(t);
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  t.teardown(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  t.equal(await post(client(t), urlOf(server)).settled, 'connect');
  t.equal(server.arrivals.length, 0);
});

t.test('a certificate for another name is refused, the second time as well, and by address', async (t) => {
  const server = await serving(t);
  const http = client(t, { ca: certificate });
  for (const host of ['other.test', 'other.test', '127.0.0.1', 'a.provider.test'])
    t.equal(await post(http, urlOf(server, host)).settled, 'connect', host);
  t.equal(server.arrivals.length, 0);
});

t.test('a session is taken up again', async (t) => {
  const reused: (boolean | null)[] = [];
  const server = await serving(t, ({ socket }) => {
    reused.push((socket as TLSSocket).isSessionReused());
    socket.write(answerOf('hi', 'connection: close\r\n'));
  });
  const http = client(t, { ca: certificate });
  for (let turn = 0; turn < 2; turn++) {
    t.equal(await post(http, urlOf(server)).settled, 'ended');
    await closed(server.sockets[turn]!);
  }
  t.same(reused, [false, true]);
});

t.test('pieces, a cut, and the end of a connection as the end of an answer', async (t) => {
  const server = await serving(
    t,
    ({ socket }) => void socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhe'),
  );
  const http = client(t, { ca: certificate });
  const told = post(http, urlOf(server));
  await told.has('he');
  server.sockets[0]!.write('llo\r\n');
  await told.has('hello');
  server.sockets[0]!.end();
  t.equal(await told.settled, 'cut');
  server.answer = ({ socket }) => void socket.end('HTTP/1.1 200 OK\r\n\r\nall');
  const other = post(http, urlOf(server));
  t.equal(await other.settled, 'ended');
  t.equal(other.body, 'all');
});

t.test('a large answer arrives whole over TLS', async (t) => {
  const body = 'x'.repeat(1024 * 1024);
  const server = await serving(t, ({ socket }) => void socket.write(answerOf(body)));
  const told = post(client(t, { ca: certificate }), urlOf(server));
  t.equal(await told.settled, 'ended');
  t.ok(told.body === body);
});

t.test('the bound on connecting spans the handshake; closing ends it', async (t) => {
  const silent = await raw(t, () => {});
  const clock = new ManualClock();
  const http = client(t, { clock });
  const reached = (): Promise<void> =>
    new Promise((resolve) => (silent.sockets.length > 0 ? resolve() : void setImmediate(() => resolve(reached()))));
  const told = post(http, urlOf(silent));
  await reached();
  clock.advance(9_999);
  t.same(told.endings, []);
  clock.advance(1);
  t.equal(await told.settled, 'connect');
  t.equal(clock.timers, 0);
  const other = post(http, urlOf(silent));
  await Promise.resolve();
  await http.close();
  t.equal(await other.settled, 'connect');
  await Promise.all(silent.sockets.map(closed));
});

t.test(
  'a server that speaks HTTP/2 over TLS is known by its SETTINGS frame, and one of HTTP/1.1 is not taken for it',
  async (t) => {
    const settings = Buffer.from('000000040000000000', 'hex');
    const speaking: Raw['answer'] = ({ socket, text }) =>
      void (text.startsWith('PRI * HTTP/2.0') ? socket.write(settings) : socket.destroy());
    const [both, older] = [await serving(t, speaking), await serving(t)];
    const http = client(t, { ca: certificate });
    t.equal(await http.speaksHttp2(urlOf(both)), true);
    t.equal((both.sockets[0] as TLSSocket).alpnProtocol, 'h2', 'it is the protocol that was offered');
    t.equal(await http.speaksHttp2(urlOf(older)), false);
    t.equal(await client(t).speaksHttp2(urlOf(both)), false, 'a certificate that is not trusted');
    t.equal(await http.speaksHttp2('https://169.254.169.254/v1'), false, 'an address that may not be called');
  },
);
