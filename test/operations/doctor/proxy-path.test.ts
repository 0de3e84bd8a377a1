/** `parley doctor --url`: the way of a client's request through a proxy. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Test } from 'tap';
import * as documented from '../../api/proxy.ts';
import { start } from '../../cli/support.ts';
import { openProxy, whyNoProxy } from '../../hostile/proxies.ts';
import { startServer } from '../../process.ts';
import { diagnose } from './diagnosis.ts';

const found = async (url: string) => (await diagnose({ PARLEY_STORE: 'memory:' }, 0, url)).of('url');

t.test('an nginx that speaks HTTP/1.0 to the server', { skip: whyNoProxy('nginx') ?? false }, async (t) => {
  const [uws, node] = await Promise.all(
    (['uws', 'node'] as const).map((edge) => startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_EDGE: edge } })),
  );
  const before = async (url: string, oldVersion: boolean): Promise<string> =>
    `http://127.0.0.1:${await openProxy(t, 'nginx', Number(new URL(url).port), { oldVersion })}`;
  t.match(await found(await before(uws!.url, true)), {
    status: 'fail',
    found: /answers 505: the proxy speaks HTTP\/1\.0/,
    advice: /proxy_http_version 1\.1;.*PARLEY_EDGE=node/,
  });
  t.match(await found(`${await before(uws!.url, false)}/console`), { status: 'ok', found: /^a parley answers at/ });
  t.match(await found(await before(node!.url, true)), { status: 'ok' });
});

for (const proxy of documented.proxies) {
  t.test(
    `${proxy} with TLS: the scheme that was used, and the one that the server believes`,
    { skip: documented.whyNoProxy(proxy) ?? false },
    async (t) => {
      const env = { PARLEY_STORE: 'memory:' };
      const [trusting, untrusting] = await Promise.all(
        [{ ...env, PARLEY_TRUSTED_PROXIES: '127.0.0.1' }, env].map((env) => startServer(t, { env })),
      );
      const before = async (server: { url: string }, edit?: (text: string) => string) => {
        const opened = await documented.openProxy(t, proxy, [server], edit && { edit });
        await opened.ready();
        return opened;
      };
      // An authority is named to a process as it starts.
      const examine = async (
        { url, authority }: { url: string; authority: string },
        settings: Readonly<Record<string, string>> = {},
      ): Promise<any> => {
        const { stdout, code } = await start(t, ['doctor', '--json', '--url', url], {
          env: { ...env, PORT: '0', PARLEY_VOICE_PROCESSES: '0', NODE_EXTRA_CA_CERTS: authority, ...settings },
        }).finished;
        const { ok, checks } = JSON.parse(stdout);
        t.equal(code, ok ? 0 : 1);
        return checks.find(({ id }: { id: string }) => id === 'url');
      };
      const [good, bad] = [await before(trusting!), await before(untrusting!)];
      t.match(await examine(good), { status: 'ok', found: `a parley answers at ${good.url}, and knows that address` });
      const plain = `a parley answers at ${bad.url}, and believes to be reached at ${bad.url.replace('https', 'http')}`;
      t.match(await examine(bad), {
        status: 'fail',
        found: new RegExp(`^${plain}: nobody can sign in`),
        advice: /X-Forwarded-Proto.*PARLEY_TRUSTED_PROXIES.*PARLEY_PUBLIC_URL/,
      });
      t.match(await examine(bad, { PARLEY_PUBLIC_URL: bad.url }), {
        status: 'warn',
        found: new RegExp(`^${plain}; PARLEY_PUBLIC_URL or`),
        advice: /X-Forwarded-Proto/,
      });
      t.match(await examine(good, { PARLEY_PUBLIC_URL: 'https://other.example' }), {
        status: 'warn',
        found: /lead to https:\/\/other\.example, as PARLEY_PUBLIC_URL/,
        advice: `If clients are to use ${good.url}: PARLEY_PUBLIC_URL=${good.url}.`,
      });
      t.match(await examine({ ...good, url: good.plainUrl }), {
        status: 'fail',
        found: new RegExp(`^${good.plainUrl} leads to https://127\\.0\\.0\\.1(?::\\d+)? \\(308\\)$`),
        advice: /^Check that address: parley doctor --url https:/,
      });
      t.match(await examine({ ...good, authority: bad.authority }), {
        status: 'fail',
        found: `${good.url} shows a certificate that is not trusted here (DEPTH_ZERO_SELF_SIGNED_CERT)`,
        advice: /NODE_EXTRA_CA_CERTS/,
      });

      const silent = await before(trusting!, (text) => text.replace(/^.*X-Forwarded-Proto.*$/m, ''));
      t.match(
        await examine(silent),
        { status: 'fail', found: /believes to be reached at http:/ },
        'a trusted proxy that does not say how the client came',
      );
      const renamed = await before(trusting!, (text) =>
        text
          .replace('proxy_set_header Host $http_host', 'proxy_set_header Host backend')
          .replace('http-request del-header X-Forwarded-Host', 'http-request set-header Host backend'),
      );
      t.match(await examine(renamed), {
        status: 'ok',
        found: `a parley answers at ${renamed.url}; without PARLEY_PUBLIC_URL sockets, links and snippets lead to https://backend`,
      });
      t.match(await examine(renamed, { PARLEY_PUBLIC_URL: renamed.url }), {
        status: 'ok',
        found: /knows that address$/,
      });
    },
  );
}

t.test('a proxy that takes plain HTTP for TLS', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:', PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
  const answering = createServer(
    (request, response) =>
      void fetch(server.url + request.url, { headers: { 'x-forwarded-proto': 'https' } }).then((answer) =>
        response.writeHead(answer.status, Object.fromEntries(answer.headers)).end('{"status":"ok"}'),
      ),
  );
  t.match(await found(await listening(t, answering)), {
    status: 'fail',
    found: /believes to be reached at https:/,
    advice: /scheme of each request as X-Forwarded-Proto/,
  });
});

t.test('doctor reports a foreign server, a silent address and a text that is no address', async (t) => {
  t.match(await found(await other(t, 502)), {
    status: 'fail',
    found: /answers 502, but the response is not from parley/,
    advice: /the proxy/,
  });
  t.match(await found(await other(t, 505)), { status: 'fail', found: /answers 505/ });
  t.match(await found('http://127.0.0.1:1'), { status: 'fail', found: /does not answer/ });
  for (const none of ['parley.example.com', 'ftp://parley.example.com', ''])
    t.match(await found(none), { status: 'fail', found: /not an HTTP address/ }, none);
  t.equal((await diagnose({ PARLEY_STORE: 'memory:' })).of('url').status, 'not looked at');
});

const other = (t: Test, status: number): Promise<string> =>
  listening(
    t,
    createServer((_, response) => void response.writeHead(status).end()),
  );

async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
