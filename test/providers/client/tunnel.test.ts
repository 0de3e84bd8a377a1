/**
 * The operator's proxy: https goes through it to the address that was checked, and everything else is as without it.
 */
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import t from 'tap';
import { readConfig } from '../../../src/base/config.ts';
import { providerBounds, providerHttp, type ProviderHttp } from '../../../src/providers/client.ts';
import { ManualClock, type Hooks } from '../model/provider.ts';
import { certificate, privateKey } from './certificate.ts';
import { answerOf, post, raw, type Raw } from './raw.ts';

interface TestProxy {
  readonly port: number;
  /** The heads of the requests that came. */
  readonly heads: string[];
  readonly sockets: Socket[];
  /** The answer instead of opening the tunnel; null for none. */
  refusal: string | null | undefined;
}

async function proxy(t: Hooks): Promise<TestProxy> {
  const open = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    open.add(socket.on('error', () => {}));
    return socket;
  };
  const server = createServer((client) => {
    self.sockets.push(keep(client));
    client.once('data', (bytes) => {
      const head = bytes.toString('latin1');
      self.heads.push(head);
      if (self.refusal === null) return;
      if (self.refusal !== undefined) return void client.write(self.refusal);
      const port = Number(/^CONNECT \S+:(\d+) /.exec(head)![1]);
      const provider = keep(
        connect(port, '127.0.0.1', () => {
          // Response in two pieces, as on a slow network.
          client.write('HTTP/1.1 200 Connection est');
          setImmediate(() => client.write('ablished\r\nvia: test\r\n\r\n'));
          client.pipe(provider).pipe(client);
        }),
      );
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const self: TestProxy = { port: (server.address() as AddressInfo).port, heads: [], sockets: [], refusal: undefined };
  t.teardown(async () => {
    server.close();
    for (const socket of open) socket.destroy();
    await once(server, 'close');
  });
  return self;
}

function client(
  t: Hooks,
  through: TestProxy,
  { allowPrivate = true, user = '' } = {},
): { http: ProviderHttp; clock: ManualClock; asked: string[] } {
  const asked: string[] = [];
  const lookup = (
    name: string,
    _options: object,
    callback: (error: null, addresses: LookupAddress[]) => void,
  ): void => {
    asked.push(name);
    callback(null, [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]);
  };
  const clock = new ManualClock();
  const { providerProxy } = readConfig({ PARLEY_PROVIDER_PROXY: `http://${user}127.0.0.1:${through.port}` });
  const http = providerHttp({ clock, allowPrivate, lookup, ca: certificate, proxy: providerProxy });
  t.teardown(() => http.close());
  return { http, clock, asked };
}

const serving = (t: Hooks, answer: Raw['answer'] = ({ socket }) => void socket.write(answerOf('hi'))): Promise<Raw> =>
  raw(
    t,
    answer,
    createSecureServer({ cert: certificate, key: privateKey }).on('tlsClientError', () => {}),
    'secureConnection',
  );

t.test('a request through the proxy, which is told the address; the provider hears the name', async (t) => {
  const [server, through] = [await serving(t), await proxy(t)];
  const { http, asked } = client(t, through, { user: 'us%65r:p%40ss@' });
  for (let turn = 0; turn < 3; turn++) {
    const told = post(http, `https://provider.test:${server.port}/v1`);
    t.equal(await told.settled, 'ended');
    t.equal(told.body, 'hi');
  }
  const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  t.same(
    through.heads,
    [
      `CONNECT 127.0.0.1:${server.port} HTTP/1.1\r\nhost: 127.0.0.1:${server.port}\r\nproxy-authorization: ${authorization}\r\n\r\n`,
    ],
    'once: the connection is kept',
  );
  t.same(asked, ['provider.test'], 'the name is looked up here');
  t.equal((server.sockets[0] as TLSSocket & { servername: string }).servername, 'provider.test');
  t.match(server.arrivals[0]!.text, `host: provider.test:${server.port}\r\n`);
});

t.test('an answer in many pieces, held again and again, loses nothing', async (t) => {
  const body = Array.from({ length: 20_000 }, (_, index) => `${index};`).join('');
  const [server, through] = [await serving(t, ({ socket }) => void socket.write(answerOf(body))), await proxy(t)];
  const { http } = client(t, through);
  const told = post(http, `https://provider.test:${server.port}/v1`);
  told.onData = () => {
    told.call.hold();
    setImmediate(() => told.call.resume());
  };
  t.equal(await told.settled, 'ended');
  t.ok(told.body === body, 'each byte once');
});

t.test('the guard looks before the proxy is asked', async (t) => {
  const through = await proxy(t);
  const { http } = client(t, through, { allowPrivate: false });
  t.equal(await post(http, 'https://provider.test/v1').settled, 'address');
  t.equal(through.sockets.length, 0);
});

t.test('plain HTTP requests bypass the proxy', async (t) => {
  const [server, through] = [await raw(t, ({ socket }) => void socket.write(answerOf('hi'))), await proxy(t)];
  const { http } = client(t, through);
  t.equal(await post(http, `http://provider.test:${server.port}/v1`).settled, 'ended');
  t.equal(through.sockets.length, 0);
});

t.test('the certificate counts behind a proxy too', async (t) => {
  const [server, through] = [await serving(t), await proxy(t)];
  const { http } = client(t, through);
  t.equal(await post(http, `https://other.test:${server.port}/v1`).settled, 'connect');
  t.equal(server.arrivals.length, 0);
});

t.test('a proxy that does not open the tunnel', async (t) => {
  const through = await proxy(t);
  const { http, clock } = client(t, through);
  const url = 'https://provider.test/v1';
  for (const refusal of [
    'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 502 Bad Gateway\r\n\r\n',
    'HTTP/1.1 200 OK\r\n\r\nsomething before it was asked',
    'SSH-2.0-OpenSSH\r\n\r\n',
    'x'.repeat(20_000),
  ]) {
    through.refusal = refusal;
    t.equal(await post(http, url).settled, 'proxy', refusal.slice(0, 40));
  }
  through.refusal = null;
  const cut = post(http, url);
  while (through.heads.length < 6) await new Promise(setImmediate);
  through.sockets.at(-1)!.destroy();
  t.equal(await cut.settled, 'proxy', 'one that closes');

  const silent = post(http, url);
  while (through.heads.length < 7) await new Promise(setImmediate);
  clock.advance(providerBounds.connectMs);
  t.equal(await silent.settled, 'connect', 'one that says nothing, for as long as a connection may take');

  const left = post(http, url);
  while (through.heads.length < 8) await new Promise(setImmediate);
  left.call.cancel();
  await once(through.sockets.at(-1)!.resume(), 'close');
  t.same(left.endings, [], 'a call that is cancelled meanwhile closes it');

  const away = client(t, { ...through, port: 1 });
  t.equal(await post(away.http, url).settled, 'proxy', 'one that is not there');
});

t.test('the setting of a proxy is checked', async (t) => {
  const of = (value: string) => readConfig({ PARLEY_PROVIDER_PROXY: value }).providerProxy;
  t.same(of(''), null);
  t.same(of('http://proxy.example'), { hostname: 'proxy.example', port: 80, authorization: null });
  t.equal(of('http://a%:%ff@proxy')!.authorization, `Basic ${Buffer.from('a%:\xff', 'latin1').toString('base64')}`);
  t.same(of('http://[::1]:3128/'), { hostname: '::1', port: 3128, authorization: null });
  for (const wrong of [
    'proxy:3128',
    'https://proxy',
    'socks5://proxy',
    'http://proxy/path',
    'http://proxy?x',
    'http://',
  ])
    t.throws(() => of(wrong), { message: /^PARLEY_PROVIDER_PROXY must be http:/ }, wrong);
  t.throws(() => of('socks5://me:secret@proxy'), { message: /^(?!.*secret)/ }, 'a password is not echoed');
});
