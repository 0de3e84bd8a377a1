/** `parley doctor --url`: the way of a client's request through a proxy. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import { openProxy, whyNoProxy } from '../../hostile/proxies.ts';
import { startServer } from '../../process.ts';
import { diagnose } from './diagnosis.ts';

const found = async (url: string) => (await diagnose({ PARLEY_STORE: 'memory:' }, 0, url)).of('url');

t.test('an nginx that speaks HTTP/1.0 to the server', { skip: whyNoProxy('nginx') ?? false }, async (t) => {
  const [uws, node] = await Promise.all((['uws', 'node'] as const).map((edge) => startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_EDGE: edge } })));
  const before = async (url: string, oldVersion: boolean): Promise<string> => `http://127.0.0.1:${await openProxy(t, 'nginx', Number(new URL(url).port), { oldVersion })}`;
  t.match(await found(await before(uws!.url, true)), { status: 'fail', found: /answers 505: the proxy speaks HTTP\/1\.0/, advice: /proxy_http_version 1\.1;.*PARLEY_EDGE=node/ });
  t.match(await found(`${await before(uws!.url, false)}/console`), { status: 'ok', found: /^a parley answers at/ });
  t.match(await found(await before(node!.url, true)), { status: 'ok' });
});

t.test('somebody else, nobody, and no address', async (t) => {
  t.match(await found(await other(t, 502)), { status: 'fail', found: /answers 502, and not from a parley/, advice: /the proxy/ });
  t.match(await found(await other(t, 505)), { status: 'fail', found: /answers 505/ });
  t.match(await found('http://127.0.0.1:1'), { status: 'fail', found: /does not answer/ });
  for (const none of ['parley.example.com', 'ftp://parley.example.com', '']) t.match(await found(none), { status: 'fail', found: /no address of HTTP/ }, none);
  t.equal((await diagnose({ PARLEY_STORE: 'memory:' })).of('url').status, 'not looked at');
});

async function other(t: Test, status: number): Promise<string> {
  const server = createServer((_, response) => void response.writeHead(status).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
