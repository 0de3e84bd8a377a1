/** A credential is tested at its provider (contract 9). */
import {
  createSecureServer as createHttp2SecureServer,
  createServer as createHttp2Server,
  type Http2Server,
} from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { certificate, privateKey } from '../providers/client/certificate.ts';
import { provider, type Provider } from '../providers/model/provider.ts';
import { openHouse, type Answer, type House } from './house.ts';
import { isRated, isRefused, refusals, unrated } from './refusal.ts';

t.test('a credential that is tested', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'debug' } });
  await t.test('works where the provider lists its models', (t) => works(t, house));
  await t.test('is refused where it says so', (t) => refusedKeys(t, house));
  await t.test('unknown is what else it says', (t) => strange(t, house));
  await t.test('a provider that sends nothing is reported as silent', (t) => silent(t, house));
  await t.test('a provider that speaks HTTP/2 alone is told from one that does not answer', (t) =>
    http2Alone(t, house),
  );
  await t.test('the key of a tool is tested with a call of it', (t) => ofTool(t, house));
  await t.test('the test uses the credential as stored now', (t) => current(t, house));
  await t.test('an unknown credential is answered with 404', (t) => nowhere(t, house));
  t.notMatch(house.stdout() + house.stderr(), /canary/, 'no secret and no word of the provider in the log');
});

t.test('a credential of an address that may not be called is reported as unknown', async (t) => {
  const house = await openHouse(t);
  for (const baseUrl of ['https://localtest.invalid/v1', 'https://no-such-host.invalid']) {
    const { id } = await stored(house, { base_url: baseUrl });
    verdict(
      t,
      await test(house, id),
      'unknown',
      'The address of the provider may not be called, or there is no such host.',
    );
  }
});

const pathOf = (house: House): string => `/workspaces/${house.workspaceId}/credentials`;
const test = (house: House, id: string): Promise<Answer> =>
  house.console(`${pathOf(house)}/${id}/test`, { method: 'POST' });

async function stored(house: House, fields: object): Promise<any> {
  const { status, json, text } = await house.console(pathOf(house), {
    body: { kind: 'model', provider: 'openai', api_key: 'canary-secret', ...fields },
  });
  if (status !== 201) throw new Error(text);
  return json;
}

async function providing(t: Test, answer: Provider['answer']): Promise<Provider> {
  const upstream = await provider(answer);
  t.teardown(() => upstream.close());
  return upstream;
}

function verdict(t: Test, answer: Answer, result: string, message: string): void {
  t.equal(answer.status, 200);
  isRated(t, answer, false, 'no budget is charged');
  t.same(answer.json, { object: 'credential_test', result, message });
}

const models = JSON.stringify({ object: 'list', data: [{ id: 'canary-model' }] });
const listing: Provider['answer'] = (response) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(models);
const other = 'The provider answers, but not in a way that tells whether it takes the key.';

async function ofTool(t: Test, house: House): Promise<void> {
  const { id } = await stored(house, { kind: 'tool', provider: undefined, base_url: 'https://tool.example' });
  verdict(t, await test(house, id), 'unknown', 'The key of a tool is tested with a test call of the tool.');
}

async function works(t: Test, house: House): Promise<void> {
  const upstream = await providing(t, listing);
  const headers = {
    openai: { authorization: 'Bearer canary-secret' },
    anthropic: { 'x-api-key': 'canary-secret', 'anthropic-version': '2023-06-01' },
  };
  for (const kind of ['model', 'voice']) {
    for (const name of ['openai', 'anthropic'] as const) {
      const { id } = await stored(house, { kind, provider: name, base_url: upstream.baseUrl });
      verdict(t, await test(house, id), 'works', 'The provider takes the key.');
      const asked = upstream.requests.at(-1)!;
      t.match(asked, { method: 'GET', path: '/v1/models', body: null, headers: headers[name] });
      t.notOk('content-length' in asked.headers || 'transfer-encoding' in asked.headers, 'no body');
    }
  }
  t.equal(upstream.requests.length, 4, 'one request each');
}

async function refusedKeys(t: Test, house: House): Promise<void> {
  for (const status of [401, 403]) {
    const upstream = await providing(
      t,
      (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/json' })
          .end('{"error":"canary-of-the-provider"}'),
    );
    const { id } = await stored(house, { base_url: upstream.baseUrl });
    verdict(t, await test(house, id), 'refused', 'The provider refuses the key.');
  }
}

async function strange(t: Test, house: House): Promise<void> {
  const upstream = await providing(t, listing);
  const { id } = await stored(house, { base_url: upstream.baseUrl });
  for (const status of [204, 301, 307, 400, 404, 429, 500, 503]) {
    upstream.answer = (response) =>
      void response.writeHead(status, { location: `${upstream.baseUrl}/elsewhere` }).end();
    verdict(t, await test(house, id), 'unknown', other);
    t.equal(upstream.requests.at(-1)!.path, '/v1/models', 'no redirect is followed');
  }
  upstream.answer = (response) =>
    void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>canary-of-the-provider</h1>');
  verdict(t, await test(house, id), 'unknown', other);
}

async function silent(t: Test, house: House): Promise<void> {
  const message = 'The provider does not answer.';
  const cutting = await providing(t, (response) => void response.destroy());
  verdict(t, await test(house, (await stored(house, { base_url: cutting.baseUrl })).id), 'unknown', message);
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  verdict(
    t,
    await test(house, (await stored(house, { base_url: `http://127.0.0.1:${port}/v1` })).id),
    'unknown',
    message,
  );
  // The head of an endless answer says enough.
  const endless = await providing(
    t,
    (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{'),
  );
  verdict(
    t,
    await test(house, (await stored(house, { base_url: endless.baseUrl })).id),
    'works',
    'The provider takes the key.',
  );
}

/** A server of this port, closed with the test. */
async function listening(t: Test, server: Server | Http2Server): Promise<number> {
  const open = new Set<Socket>();
  server.on(
    'connection',
    (socket: Socket) => void open.add(socket.on('error', () => {}).on('close', () => open.delete(socket))),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** The beginning of a connection in HTTP/2 (RFC 9113, 3.4), and an empty SETTINGS frame. */
const preface = 'PRI * HTTP/2.0';
const settingsFrame = Buffer.from('000000040000000000', 'hex');

async function http2Alone(t: Test, house: House): Promise<void> {
  const message = 'The provider answers in HTTP/2 alone. Use an address that speaks HTTP/1.1.';
  const verdictAt = async (baseUrl: string): Promise<Answer> =>
    test(house, (await stored(house, { base_url: baseUrl })).id);
  const servers: [string, Server | Http2Server][] = [
    ['without TLS', createHttp2Server((_, response) => response.end(models))],
    [
      'without TLS, which waits for the preface and closes on anything else',
      createServer(
        (socket) =>
          void socket.once('data', (bytes) =>
            bytes.toString('latin1').startsWith(preface) ? socket.write(settingsFrame) : socket.end(),
          ),
      ),
    ],
    [
      'without TLS, which refuses HTTP/1.1 with a status',
      createServer(
        (socket) =>
          void socket.once('data', (bytes) =>
            bytes.toString('latin1').startsWith(preface)
              ? socket.write(settingsFrame)
              : socket.end('HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-length: 0\r\n\r\n'),
          ),
      ),
    ],
    [
      'without TLS, in pieces',
      createServer(
        (socket) =>
          void socket.once('data', (bytes) => {
            if (!bytes.toString('latin1').startsWith(preface)) return socket.destroy();
            socket.write(settingsFrame.subarray(0, 5));
            return setImmediate(() => socket.write(settingsFrame.subarray(5)));
          }),
      ),
    ],
  ];
  for (const [name, server] of servers) {
    t.comment(name);
    verdict(t, await verdictAt(`http://127.0.0.1:${await listening(t, server)}/v1`), 'unknown', message);
  }
  const secure = createHttp2SecureServer({ key: privateKey, cert: certificate }, (_, response) => response.end(models));
  verdict(t, await verdictAt(`https://127.0.0.1:${await listening(t, secure)}/v1`), 'unknown', message);

  const mute = 'The provider does not answer.';
  for (const answer of [
    (socket: Socket) => socket.destroy(),
    (socket: Socket) => socket.once('data', () => socket.destroy()),
    (socket: Socket) => socket.once('data', () => socket.end('nonsense')),
  ]) {
    const answers = (
      await verdictAt(
        `http://127.0.0.1:${await listening(
          t,
          createServer((socket) => void answer(socket)),
        )}/v1`,
      )
    ).json.message;
    t.ok([mute, other].includes(answers), answers);
  }
  // A server of both protocols has answered in HTTP/1.1.
  const both = createServer(
    (socket) =>
      void socket.once('data', (bytes) =>
        bytes.toString('latin1').startsWith(preface)
          ? socket.write(settingsFrame)
          : socket.end('HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n'),
      ),
  );
  verdict(t, await verdictAt(`http://127.0.0.1:${await listening(t, both)}/v1`), 'unknown', other);
}

async function current(t: Test, house: House): Promise<void> {
  const upstream = await providing(t, (response, { headers }) => {
    if (headers.authorization === 'Bearer canary-new') return listing(response, upstream.requests.at(-1)!);
    response.writeHead(401).end();
  });
  const { id } = await stored(house, { base_url: upstream.baseUrl });
  t.equal((await test(house, id)).json.result, 'refused');
  await house.console(`${pathOf(house)}/${id}`, { method: 'PATCH', body: { api_key: 'canary-new' } });
  t.equal((await test(house, id)).json.result, 'works', 'at once');
}

async function nowhere(t: Test, house: House): Promise<void> {
  const { id } = await stored(house, { kind: 'voice', provider: 'embedded' });
  verdict(t, await test(house, id), 'unknown', 'Keys of this provider cannot be tested.');
  isRefused(t, await test(house, `crd_${'0'.repeat(26)}`), unrated(refusals.noRoute), 'an unknown one');
  const { id: elsewhere } = (await house.console('/workspaces', { body: { name: 'Other' } })).json;
  isRefused(
    t,
    await house.console(`/workspaces/${elsewhere}/credentials/${id}/test`, { method: 'POST' }),
    unrated(refusals.noRoute),
    'of another workspace',
  );
  isRefused(
    t,
    await house.ask(`/console/api${pathOf(house)}/${id}/test`, { method: 'POST' }),
    unrated(refusals.invalidKey),
    'an API key is none of the console',
  );
}
