import t from 'tap';
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import {
  AddressRefused,
  baseUrlProblem,
  guardedLookup,
  isPublicAddress,
  addressCheck,
} from '../../../src/providers/client/address.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import { WheelClock } from '../../../src/base/clock.ts';
import type { ProviderHttp } from '../../../src/providers/client.ts';
import { toolInvoker } from '../../../src/providers/tool/invoker.ts';
import type { ToolResult } from '../../../src/providers/tool.ts';
import { ask, client, delta, done, eventStream, provider } from '../model/provider.ts';

const refusedHosts = [
  '127.0.0.1',
  '127.1',
  '0177.0.0.1',
  '0x7f.0.0.1',
  '0x7f000001',
  '2130706433',
  '017700000001',
  '0.0.0.0',
  '0',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '169.254.169.254',
  '0xa9fea9fe',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.2.1',
  '192.0.0.1',
  '203.0.113.5',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '１２７.0.0.1',
  '127.0.0.1.',
  '[::]',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::ffff:a9fe:a9fe]',
  '[::127.0.0.1]',
  '[fe80::1]',
  '[fec0::1]',
  '[fc00::1]',
  '[fd12:3456::1]',
  '[ff02::1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::1]',
  '[2002:7f00:1::]',
  '[2001:db8::1]',
  '[2001::1]',
  '[100::1]',
  '[4000::1]',
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
];

/**
 * Addresses of cloud metadata and link-local ones, in every notation and wrapped in every form of IPv6 that a network
 * may translate back.
 */
const neverCalled = [
  '169.254.169.254',
  '169.254.0.1',
  '169.254.255.255',
  '169.254.170.2',
  '0xa9fea9fe',
  '2852039166',
  '025177524776',
  '0251.0376.0251.0376',
  '0xa9.0xfe.0xa9.0xfe',
  '169.254.43518',
  '169.16689662',
  '１６９.254.169.254',
  '169.254.169.254.',
  '100.100.100.200',
  '0x646464c8',
  '1684301000',
  '168.63.129.16',
  '0xa83f8110',
  '2822734096',
  '192.0.0.192',
  '[fe80::1]',
  '[fe80::a9fe:a9fe]',
  '[febf:ffff::1]',
  '[fd00:ec2::254]',
  '[fd00:0ec2:0:0:0:0:0:254]',
  '[fd00:ec2::23]',
  '[fd20:ce::254]',
  '[fd00:42::42]',
  '[fd00:c1::a9fe:a9fe]',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[::ffff:6464:64c8]',
  '[::ffff:168.63.129.16]',
  '[::169.254.169.254]',
  '[::a83f:8110]',
  '[::ffff:0:169.254.169.254]',
  '[::ffff:0:6464:64c8]',
  '[64:ff9b::169.254.169.254]',
  '[64:ff9b::a9fe:1]',
  '[64:ff9b::6464:64c8]',
  '[64:ff9b::a83f:8110]',
  '[64:ff9b:1::a9fe:a9fe]',
  '[64:ff9b:1:a9fe:a9:fe00::]',
  '[64:ff9b:1:0:a9:fea9:fe00:0]',
  '[64:ff9b:1:a9:fe:a9fe::]',
  '[2002:a9fe:a9fe::]',
  '[2002:a9fe:1::1]',
  '[2002:6464:64c8::1]',
  '[2002:a83f:8110::1]',
  '[2001::5601:5601]',
  '[2001:0:808:808:0:ffff:5601:5601]',
  '[2001:0:a9fe:a9fe::1]',
  '[2001::9b9b:9b37]',
  '[2001:db8::5efe:a9fe:1]',
  '[fd12::200:5efe:169.254.169.254]',
  '[2606:4700::a9fe:a9fe]',
  '[fd12:3456::a83f:8110]',
  '[2001:db8:a9fe:a9fe::]',
  '[2001:db8:122:a9fe:a9:fe00::]',
];

t.test('base URLs that reach into a private network are refused by their text', async (t) => {
  for (const host of refusedHosts) {
    t.equal(baseUrlProblem(`http://${host}/v1`, false), 'unencrypted_url', host);
    t.equal(baseUrlProblem(`https://${host}:8443/v1`, false), 'invalid_field', host);
    if (!neverCalled.includes(host))
      t.equal(baseUrlProblem(`https://${host}/v1`, true), null, `${host}, where private addresses are allowed`);
  }
});

t.test('without encryption only a private address is called, and only where these are allowed', async (t) => {
  const outside = [
    'example.com',
    '8.8.8.8',
    '[2606:4700::1111]',
    '[::ffff:8.8.8.8]',
    '[2002:808:808::1]',
    '[64:ff9b::808:808]',
    '192.0.2.1',
    '224.0.0.1',
    '240.0.0.1',
    '[2001:db8::1]',
    '[4000::1]',
  ];
  for (const host of outside) {
    t.equal(baseUrlProblem(`http://${host}/v1`, false), 'unencrypted_url', host);
    t.equal(
      baseUrlProblem(`HTTP://${host}:8080/v1`, true),
      host === 'example.com' ? null : 'unencrypted_url',
      `${host}, where private addresses are allowed`,
    );
    t.equal(baseUrlProblem(`https://${host}/v1`, true), null, `${host}, encrypted`);
  }
  const private_ = [
    '127.0.0.1',
    '0x7f000001',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[fd12:3456::1]',
    '[::ffff:10.0.0.1]',
    'localhost',
    'a.localhost.',
  ];
  for (const host of private_) t.equal(baseUrlProblem(`http://${host}:8080/v1`, true), null, host);
});

t.test('public base URLs pass', async (t) => {
  for (const url of [
    'https://api.openai.com/v1',
    'https://example.com:8080/v1/',
    'https://8.8.8.8/v1',
    'https://[2606:4700::1111]/v1',
    'https://[::ffff:8.8.8.8]/v1',
  ]) {
    t.equal(baseUrlProblem(url, false), null, url);
  }
});

t.test('other schemes, user names, queries and fragments are refused everywhere', async (t) => {
  const urls = [
    '',
    'nonsense',
    'ftp://example.com/',
    'file:///etc/passwd',
    'unix:/run/x',
    'https://user@example.com/',
    'https://:pw@example.com/',
    'https://example.com/?a=1',
    'https://example.com/#a',
    'https://',
  ];
  for (const url of urls) {
    t.equal(baseUrlProblem(url, false), 'invalid_field', url);
    t.equal(baseUrlProblem(url, true), 'invalid_field', url);
  }
});

t.test('only an address is public', async (t) => {
  t.equal(isPublicAddress('example.com'), false);
  t.equal(isPublicAddress(''), false);
  t.equal(isPublicAddress('fe80::1%eth0'), false);
  t.equal(isPublicAddress('8.8.8.8'), true);
});

const resolving = (...lists: string[][]) => {
  const asked: string[] = [];
  const lookup = (
    hostname: string,
    _options: object,
    callback: (error: null, addresses: LookupAddress[]) => void,
  ): void => {
    const addresses = lists[Math.min(asked.push(hostname) - 1, lists.length - 1)]!;
    callback(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
  return { lookup, asked };
};

t.test('a name is refused when any of its addresses is private', async (t) => {
  for (const addresses of [
    ['127.0.0.1'],
    ['8.8.8.8', '10.0.0.1'],
    ['::ffff:127.0.0.1'],
    ['2606:4700::1111', 'fe80::1'],
    [],
  ]) {
    guardedLookup(isPublicAddress, resolving(addresses).lookup)('evil.test', { all: true }, (error) =>
      t.ok(error instanceof AddressRefused, addresses.join()),
    );
  }
});

t.test('the addresses handed on are the addresses checked, and a later answer is checked again', async (t) => {
  const { lookup, asked } = resolving(['8.8.8.8', '8.8.4.4'], ['127.0.0.1']);
  const guarded = guardedLookup(isPublicAddress, lookup);
  guarded('rebinding.test', { all: true }, (error, addresses) =>
    t.same(
      [error, addresses],
      [
        null,
        [
          { address: '8.8.8.8', family: 4 },
          { address: '8.8.4.4', family: 4 },
        ],
      ],
    ),
  );
  t.equal(asked.length, 1);
  guarded('rebinding.test', {}, (error) => t.ok(error instanceof AddressRefused));
  guardedLookup(isPublicAddress, resolving(['8.8.8.8']).lookup)('one.test', { all: false }, (error, address, family) =>
    t.same([error, address, family], [null, '8.8.8.8', 4]),
  );
});

t.test('no setting allows a link-local address or one of cloud metadata, in any notation', async (t) => {
  for (const host of neverCalled) {
    for (const url of [`http://${host}/latest/meta-data`, `https://${host}/v1`, `http://${host}:32526/`]) {
      t.equal(baseUrlProblem(url, true), 'invalid_field', url);
      t.ok(baseUrlProblem(url, false), `${url}, where private addresses are not allowed`);
    }
  }
  const allowed = [
    '169.253.255.255',
    '169.255.0.1',
    '100.100.100.199',
    '168.63.129.15',
    '[fd00:ec1::254]',
    '[fec0::1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::1]',
    '[2606:4700::a9fe:1]',
    '[::ffff:10.0.0.1]',
    '[::1]',
  ];
  for (const host of allowed) t.equal(baseUrlProblem(`https://${host}/v1`, true), null, `${host} is its neighbour`);
});

t.test(
  'a name that resolves to a link-local address or one of cloud metadata is never connected to, whatever the settings',
  async (t) => {
    const server = await provider((response) => response.writeHead(200, eventStream).end(delta('x', 'stop') + done));
    t.teardown(server.close);
    const port = new URL(server.baseUrl).port;
    // A resolver gives no IPv4 address in another notation than decimal.
    const resolved = neverCalled
      .map((host) => host.replace(/^\[|\]$/g, ''))
      .filter((host) => isIP(host) !== 0)
      .concat('fe80::1%eth0', 'no address');
    t.ok(resolved.length > 40);
    for (const address of resolved) {
      for (const addresses of [
        [address],
        ['127.0.0.1', address],
        [address, '8.8.8.8'],
        ['10.0.0.1', '2606:4700::1111', address],
      ]) {
        for (const secure of [false, true]) {
          for (const allowPrivate of [false, true])
            guardedLookup(addressCheck(secure, allowPrivate), resolving(addresses).lookup)(
              'rebinding.test',
              { all: true },
              (error) => t.ok(error instanceof AddressRefused, addresses.join()),
            );
        }
      }
      const { lookup, asked } = resolving([address], ['127.0.0.1']);
      for (const scheme of ['http', 'https']) {
        const http = client(t, {}, { allowPrivate: true, lookup: resolving(['127.0.0.1', address]).lookup });
        t.equal(
          await ask(openaiModel(http), { baseUrl: `${scheme}://metadata.test:${port}/v1` }).settled,
          'address',
          `${scheme}: ${address}`,
        );
      }
      for (const kind of ['http', 'mcp'] as const)
        t.match(
          await called(
            client(t, {}, { lookup: resolving([address]).lookup }),
            kind,
            `http://metadata.test:${port}/call`,
          ),
          neverConnected,
          `a tool, ${kind}: ${address}`,
        );
      const model = openaiModel(client(t, {}, { lookup }));
      t.equal(await ask(model, { baseUrl: `http://metadata.test:${port}/v1` }).settled, 'address');
      t.same(asked, ['metadata.test'], 'one look-up decides');
    }
    t.equal(server.sockets.length, 0);
  },
);

t.test('an answer that redirects to cloud metadata is not followed', async (t) => {
  const server = await provider((response) =>
    response.writeHead(307, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  );
  t.teardown(server.close);
  const asked: string[] = [];
  const lookup = (
    hostname: string,
    _options: object,
    callback: (error: null, addresses: LookupAddress[]) => void,
  ): void => {
    asked.push(hostname);
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  };
  const url = server.baseUrl.replace('127.0.0.1', 'redirects.test');
  for (const kind of ['http', 'mcp'] as const)
    t.match(await called(client(t, {}, { lookup }), kind, url), { status: 'failed', error: 'refused' }, kind);
  t.equal(await ask(openaiModel(client(t, {}, { lookup })), { baseUrl: url }).settled, 'redirect');
  t.same([...new Set(asked)], ['redirects.test']);
});

const neverConnected: ToolResult = { status: 'failed', error: 'unreachable' };

/** A call of a tool that is never sent: it is repeatable, so that a second try would show. */
function called(http: ProviderHttp, kind: 'http' | 'mcp', url: string): Promise<ToolResult> {
  const tool = {
    workspaceId: 'wks_1',
    kind,
    url,
    timeoutSeconds: 5,
    repeatable: true,
    secrets: ['whsec_c2VjcmV0'],
    headers: { authorization: 'Bearer secret' },
  };
  const context = {
    workspaceId: 'w',
    assistantId: 'a',
    sessionId: 's',
    turnId: 't',
    channel: 'api',
    signedVisitorId: null,
    visitor: {},
    metadata: {},
  };
  const clock = new WheelClock();
  return toolInvoker(http, clock)
    .invoke(
      tool,
      { name: 'act', parameters: { type: 'object' } },
      { callId: 'call_1', arguments: {}, context },
      new AbortController().signal,
    )
    .finally(() => clock.stop());
}

t.test('a name that resolves to this machine is never connected to', async (t) => {
  const server = await provider((response) => response.writeHead(200, eventStream).end(delta('x', 'stop') + done));
  t.teardown(server.close);
  const port = new URL(server.baseUrl).port;
  const { lookup, asked } = resolving(['127.0.0.1']);
  const guarded = openaiModel(client(t, {}, { allowPrivate: false, lookup }));
  t.equal(await ask(guarded, { baseUrl: `https://evil.test:${port}/v1` }).settled, 'address');
  t.equal(await ask(guarded, { baseUrl: `https://127.0.0.1:${port}/v1` }).settled, 'address');
  t.equal(await ask(guarded, { baseUrl: `https://localhost:${port}/v1` }).settled, 'address');
  for (const host of ['evil.test', '127.0.0.1', 'localhost'])
    t.equal(await ask(guarded, { baseUrl: `http://${host}:${port}/v1` }).settled, 'address', `unencrypted: ${host}`);
  t.same(asked, ['evil.test'], 'literals and localhost are refused without a look-up');
  for (const kind of ['http', 'mcp'] as const) {
    for (const host of [...refusedHosts, 'evil.test']) {
      for (const scheme of ['http', 'https'])
        t.match(
          await called(client(t, {}, { allowPrivate: false, lookup }), kind, `${scheme}://${host}:${port}/call`),
          neverConnected,
          `a tool, ${kind}: ${scheme}://${host}`,
        );
    }
  }
  t.equal(server.sockets.length, 0);
});

t.test('a name is called without encryption only where each of its addresses is private', async (t) => {
  const server = await provider((response) => response.writeHead(200, eventStream).end(delta('x', 'stop') + done));
  t.teardown(server.close);
  const port = new URL(server.baseUrl).port;
  for (const addresses of [
    ['8.8.8.8'],
    ['127.0.0.1', '8.8.8.8'],
    ['2606:4700::1111'],
    ['64:ff9b::808:808'],
    ['2002:808:808::1'],
    [],
  ]) {
    guardedLookup(addressCheck(false, true), resolving(addresses).lookup)('public.test', { all: true }, (error) =>
      t.ok(error instanceof AddressRefused, addresses.join()),
    );
    guardedLookup(addressCheck(true, true), resolving(addresses).lookup)('public.test', { all: true }, (error) =>
      t.equal(error === null, addresses.length > 0, `${addresses.join()}, encrypted`),
    );
  }
  // Addresses for examples, which lead nowhere.
  for (const addresses of [['192.0.2.1'], ['127.0.0.1', '192.0.2.1'], ['2001:db8::1']]) {
    const { lookup, asked } = resolving(addresses);
    t.equal(
      await ask(openaiModel(client(t, {}, { lookup })), { baseUrl: `http://public.test:${port}/v1` }).settled,
      'address',
      addresses.join(),
    );
    t.same(asked, ['public.test']);
    for (const kind of ['http', 'mcp'] as const)
      t.match(
        await called(client(t, {}, { lookup }), kind, `http://public.test:${port}/call`),
        { error: 'unreachable' },
        `a tool, ${kind}: ${addresses.join()}`,
      );
  }
  const model = openaiModel(client(t, {}, { lookup: resolving(['127.0.0.1']).lookup }));
  t.equal(await ask(model, { baseUrl: `http://private.test:${port}/v1` }).settled, 'end');
  t.equal(server.sockets.length, 1);
});

t.test('one connection takes one look-up, and goes to the address that it gave', async (t) => {
  const server = await provider((response) => response.writeHead(200, eventStream).end(delta('x', 'stop') + done));
  t.teardown(server.close);
  const { lookup, asked } = resolving(['127.0.0.1'], ['192.0.2.1']);
  const model = openaiModel(client(t, {}, { lookup }));
  const baseUrl = `http://provider.test:${new URL(server.baseUrl).port}/v1`;
  t.equal(await ask(model, { baseUrl }).settled, 'end');
  t.equal(asked.length, 1);
  t.equal(server.requests[0]!.headers.host, new URL(baseUrl).host);
});

t.test('the name server failing: no such name is the address, anything else the connection', async (t) => {
  for (const [code, failure] of [
    ['ENOTFOUND', 'address'],
    ['ENODATA', 'address'],
    ['EAI_AGAIN', 'connect'],
  ] as const) {
    const model = openaiModel(
      client(t, {}, { lookup: (_name, _options, callback) => callback(Object.assign(new Error(), { code }), []) }),
    );
    t.equal(await ask(model, { baseUrl: 'http://gone.test/v1' }).settled, failure, code);
  }
});

t.test('proxies of the environment are ignored', async (t) => {
  const proxy = await provider((response) => response.end());
  const server = await provider((response) => response.writeHead(200, eventStream).end(delta('x', 'stop') + done));
  t.teardown(() => Promise.all([proxy.close(), server.close()]));
  const before = { ...process.env };
  t.teardown(() => void (process.env = before));
  process.env['http_proxy'] = process.env['HTTP_PROXY'] = new URL(proxy.baseUrl).origin;
  process.env['no_proxy'] = process.env['NO_PROXY'] = '';
  t.equal(await ask(openaiModel(client(t)), { baseUrl: server.baseUrl }).settled, 'end');
  t.equal(proxy.sockets.length, 0);
});

t.test('a closed port is a failure to connect', async (t) => {
  const server = await provider(() => {});
  await server.close();
  t.equal(await ask(openaiModel(client(t)), { baseUrl: server.baseUrl }).settled, 'connect');
});

t.test('a server that does not speak TLS is a failure to connect', async (t) => {
  const server = await provider(() => {});
  t.teardown(server.close);
  const heard = ask(openaiModel(client(t)), { baseUrl: server.baseUrl.replace('http:', 'https:') });
  t.equal(await heard.settled, 'connect');
});
