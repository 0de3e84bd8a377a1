/**
 * MCP servers as they are: each that answers otherwise than the protocol has it, and can be understood, is entered,
 * listed and called (contract 13).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import t from 'tap';
import { openWorkspace, type House } from './house.ts';
import { listed, openServer, type Answers } from './mcp-server.ts';

const json = { 'content-type': 'application/json' };
const toolsPath = (house: House): string => `/workspaces/${house.workspaceId}/tools`;

type Oddly = NonNullable<Answers['oddly']>;

const message = (id: unknown, fields: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...fields });

/** Answers a method with a result. */
const answering =
  (wanted: string, result: object, headers: object = json): Oddly =>
  (method, response, id) => {
    if (method !== wanted) return undefined;
    response.writeHead(200, { ...headers }).end(message(id, { result }));
    return true;
  };

/** Answers a method with a status. */
const refusing =
  (wanted: string, status: number, text = '', headers: object = {}): Oddly =>
  (method, response) => {
    if (method !== wanted) return undefined;
    response.writeHead(status, { ...headers }).end(text);
    return true;
  };

/** Leaves a server that wants no session. */
const initialized = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'orders', version: '1' },
};

/** Answers everything without sessions, by results that are given, in a form that is given. */
const stateless =
  (
    form: (response: ServerResponse, id: unknown, result: object) => void,
    results: Readonly<Record<string, object>> = {},
  ): Oddly =>
  (method, response, id) => {
    const all: Readonly<Record<string, object>> = {
      initialize: initialized,
      'tools/list': { tools: [listed('look_up')] },
      'tools/call': { content: [{ type: 'text', text: 'shipped' }] },
      ...results,
    };
    const result = all[method];
    if (method === 'notifications/initialized') response.writeHead(202).end();
    else if (result === undefined) response.writeHead(404).end();
    else form(response, id, result);
    return true;
  };

const asJson =
  (headers: object) =>
  (response: ServerResponse, id: unknown, result: object): void =>
    void response.writeHead(200, { ...headers }).end(message(id, { result }));
const asStream =
  (text: (data: string) => string, headers: object = { 'content-type': 'text/event-stream' }) =>
  (response: ServerResponse, id: unknown, result: object): void =>
    void response.writeHead(200, { ...headers }).end(text(message(id, { result })));

/** 30 functions, one a page. */
const paged: Oddly = (method, response, id, _, params) => {
  if (method !== 'tools/list') return undefined;
  const page = Number(params?.cursor ?? 0);
  response.writeHead(200, json).end(
    message(id, {
      result: {
        tools: [listed(page === 0 ? 'look_up' : `other_${page}`)],
        ...(page < 29 && { nextCursor: String(page + 1) }),
      },
    }),
  );
  return true;
};

const redirecting =
  (status: number, location: (request: IncomingMessage) => string): Oddly =>
  (_, response, __, request) => {
    if (request.url === '/mcp/' || request.url === '/v2/mcp?a=b') return undefined;
    response.writeHead(status, { location: location(request) }).end();
    return true;
  };

const tools = { tools: [listed('look_up')] };

/** Kinds of odd servers. */
const rows: Readonly<Record<string, Oddly>> = {
  'null as the next cursor': answering('tools/list', { ...tools, nextCursor: null }),
  'an empty next cursor': answering('tools/list', { ...tools, nextCursor: '' }),
  'a cursor that comes again': answering('tools/list', { ...tools, nextCursor: 'same' }),
  'more than 16 pages': paged,
  'null fields of a tool': answering('tools/list', {
    tools: [
      {
        ...listed('look_up'),
        title: null,
        annotations: null,
        outputSchema: null,
        _meta: null,
        icons: null,
        execution: null,
      },
    ],
    _meta: null,
  }),
  'a tool without a description': answering('tools/list', { tools: [{ ...listed('look_up'), description: null }] }),
  'an output schema of another type': answering('tools/list', {
    tools: [{ ...listed('look_up'), outputSchema: { type: 'array' } }],
  }),
  'a tool without a name, and one that is none': answering('tools/list', {
    tools: [null, 5, { inputSchema: {} }, { name: 5 }, listed('look_up')],
  }),
  'no version of the server': stateless(asJson(json), {
    initialize: { ...initialized, serverInfo: { name: 'orders' } },
  }),
  'no name of the server': stateless(asJson(json), { initialize: { ...initialized, serverInfo: null } }),
  'null instructions': stateless(asJson(json), { initialize: { ...initialized, instructions: null, _meta: null } }),
  'a null capability': stateless(asJson(json), {
    initialize: { ...initialized, capabilities: { tools: null, prompts: null, logging: null } },
  }),
  'no capabilities': stateless(asJson(json), { initialize: { ...initialized, capabilities: {} } }),
  'null capabilities': stateless(asJson(json), { initialize: { ...initialized, capabilities: null } }),
  'the version 2024-11-05': stateless(asJson(json), { initialize: { ...initialized, protocolVersion: '2024-11-05' } }),
  'a version that is not known': stateless(asJson(json), {
    initialize: { ...initialized, protocolVersion: '2031-01-01' },
  }),
  'no version of the protocol': stateless(asJson(json), { initialize: { capabilities: {} } }),
  'no type of its answers': stateless(asJson({})),
  'JSON as text/plain': stateless(asJson({ 'content-type': 'text/plain; charset=utf-8' })),
  'JSON as text/html': stateless(asJson({ 'content-type': 'text/html' })),
  'JSON as an event stream': stateless(asJson({ 'content-type': 'text/event-stream' })),
  'JSON of another media type': stateless(asJson({ 'content-type': 'application/json-rpc;charset=UTF-8' })),
  'a batch of one': stateless(
    (response, id, result) => void response.writeHead(200, json).end(`[${message(id, { result })}]`),
  ),
  'a byte order mark': stateless(
    (response, id, result) => void response.writeHead(200, json).end(`\ufeff${message(id, { result })}`),
  ),
  'ids as texts': stateless(
    (response, id, result) => void response.writeHead(200, json).end(message(String(id), { result })),
  ),
  'no member jsonrpc, and null as the error': stateless(
    (response, id, result) => void response.writeHead(200, json).end(JSON.stringify({ id, result, error: null })),
  ),
  'an event stream': stateless(asStream((data) => `: hello\n\nid: 1\nevent: message\ndata: ${data}\n\n`)),
  'an event stream with line ends of CR LF': stateless(asStream((data) => `event: message\r\ndata: ${data}\r\n\r\n`)),
  'an event stream whose last event is not ended': stateless(asStream((data) => `data: ${data}`)),
  'an event stream as JSON': stateless(asStream((data) => `data: ${data}\n\n`, json)),
  'an event stream with data of its own': stateless(
    asStream(
      (data) =>
        `event: ping\ndata: 5\n\nid: 7\nretry: 10\ndata:\n\nevent: endpoint\ndata: /messages?id=1\n\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\ndata: ${data}\n\ndata: [DONE]\n\n`,
    ),
  ),
  'an event stream that stays open': stateless(
    (response, id, result) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`data: ${message(id, { result })}\n\n`),
  ),
  '307 to the path with a slash': redirecting(307, () => '/mcp/'),
  '308 to the path with a slash, in full': redirecting(308, ({ headers }) => `http://${headers.host}/mcp/`),
  '307 to another path': redirecting(307, () => '/v2/mcp?a=b'),
  '405 to `initialized`': refusing('notifications/initialized', 405),
  '400 to `initialized`': refusing('notifications/initialized', 400, 'no'),
  '500 to `initialized`': refusing('notifications/initialized', 500),
  'a body after `initialized`': refusing('notifications/initialized', 200, '{}', json),
  'a closed connection after `initialized`': (method, response) =>
    method === 'notifications/initialized' ? (response.destroy(), true) : undefined,
  '404 to the probe': refusing('server/discover', 404),
  '405 to the probe': refusing('server/discover', 405),
  '406 to the probe': refusing('server/discover', 406),
  '429 to the probe': refusing('server/discover', 429),
  '500 to the probe': refusing('server/discover', 500, 'Internal Server Error'),
  '502 to the probe': refusing('server/discover', 502),
  '503 to the probe': refusing('server/discover', 503),
  'nothing to the probe': refusing('server/discover', 202),
  'HTML to the probe': refusing('server/discover', 200, '<!doctype html>', { 'content-type': 'text/html' }),
  'half of JSON to the probe': refusing('server/discover', 200, '{"jsonrpc"', json),
  'too much to the probe': refusing('server/discover', 200, `"${'x'.repeat(1024 * 1024 + 1)}"`, json),
  'an odd result to the probe': answering('server/discover', { supportedVersions: null }),
  'versions that are not known to the probe': answering('server/discover', { supportedVersions: ['2031-01-01'] }),
  'a redirect of the probe to elsewhere': refusing('server/discover', 302, '', { location: 'https://login.example/' }),
  'a closed connection after the probe': (method, response) =>
    method === 'server/discover' ? (response.destroy(), true) : undefined,
};

for (const [name, oddly] of Object.entries(rows))
  t.test(`a server is entered, listed and called: ${name}`, async (t) => {
    const house = await openWorkspace();
    const server = await openServer(t, 'legacy', { oddly });
    const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
    const { status, json: refreshed } = await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, {
      method: 'POST',
    });
    t.equal(status, 200, JSON.stringify(refreshed));
    t.match(refreshed.functions[0], { name: 'look_up' });
    t.equal(refreshed.functions.length, name === 'more than 16 pages' ? 30 : 1);
    const { json: called } = await house.console(`${toolsPath(house)}/${made.json.id}/test`, {
      body: { name: 'look_up', arguments: { order: '7' } },
    });
    t.match(called, { status: 'completed', output: 'shipped' });
  });

t.test('a server that says nothing to the probe is entered after five seconds', async (t) => {
  const house = await openWorkspace();
  const server = await openServer(t, 'legacy', { oddly: (method) => method === 'server/discover' });
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
  t.match(await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' }), {
    status: 200,
    json: { functions: [{ name: 'look_up' }] },
  });
});

t.test('a server that takes an older version alone is entered with it', async (t) => {
  const house = await openWorkspace();
  const offered: string[] = [];
  const server = await openServer(t, 'legacy', {
    oddly: (method, response, id, _, params) => {
      if (method !== 'initialize') return undefined;
      offered.push(params.protocolVersion);
      if (params.protocolVersion === '2025-06-18') return undefined;
      response.writeHead(offered.length === 1 ? 400 : 200, json).end(
        message(id, {
          error: {
            code: -32602,
            message: 'Unsupported protocol version',
            data: { supported: ['2025-06-18', '2024-11-05'], requested: params.protocolVersion },
          },
        }),
      );
      return true;
    },
  });
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
  t.match(await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' }), {
    status: 200,
    json: { functions: [{ name: 'look_up' }] },
  });
  t.same(offered, ['2025-11-25', '2025-06-18']);
});

t.test('a redirect to elsewhere is not followed, nor one that changes the method, nor one without end', async (t) => {
  const house = await openWorkspace();
  const elsewhere = await openServer(t, 'legacy', {});
  const targets: readonly (readonly [number, string])[] = [
    [307, elsewhere.url],
    [308, elsewhere.url],
    [301, '/mcp/'],
    [302, '/mcp/'],
    [303, '/mcp/'],
    [307, '/mcp'],
    [307, 'ftp://x/'],
    [307, ''],
  ];
  for (const [status, location] of targets) {
    const server = await openServer(t, 'legacy', {
      oddly: (_, response) => (response.writeHead(status, { location }).end(), true),
    });
    const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
    t.equal(
      (await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' })).status,
      503,
      `${status} ${location}`,
    );
    t.ok(server.got.length <= 8);
  }
  t.equal(elsewhere.got.length, 0);
});

t.test('a call is sent once despite a redirect', async (t) => {
  const house = await openWorkspace();
  const answers: Answers = {};
  const server = await openServer(t, 'legacy', answers);
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
  await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' });
  answers.oddly = redirecting(307, () => '/mcp/');
  t.match(
    (
      await house.console(`${toolsPath(house)}/${made.json.id}/test`, {
        body: { name: 'look_up', arguments: { order: '7' } },
      })
    ).json,
    { status: 'failed', error: 'refused' },
  );
  t.equal(server.got.filter(({ method }) => method === 'tools/call').length, 1);
});

t.test('an endless list is refused', async (t) => {
  const house = await openWorkspace();
  let page = 0;
  const server = await openServer(t, 'legacy', {
    oddly: (method, response, id) =>
      method === 'tools/list'
        ? (response.writeHead(200, json).end(message(id, { result: { tools: [], nextCursor: String(++page) } })), true)
        : undefined,
  });
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url: server.url } });
  t.equal((await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' })).status, 503);
  t.equal(page, 256);
});

/** Kinds of failed entries, and the text for the operator. */
const failures: Readonly<Record<string, readonly [oddly: Oddly, wanted: { step: string; error: string }]>> = {
  'a missing key': [
    (_, response) => (response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(), true),
    { step: 'probe', error: 'refused' },
  ],
  'a key of somebody else': [
    (_, response) => (response.writeHead(403).end(), true),
    { step: 'probe', error: 'refused' },
  ],
  'a redirect to a sign-in': [
    (_, response) => (response.writeHead(302, { location: 'https://login.example/' }).end(), true),
    { step: 'initialize', error: 'refused' },
  ],
  HTML: [
    (_, response) => (
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Welcome</title>'),
      true
    ),
    { step: 'initialize', error: 'malformed' },
  ],
  'a wrong path': [
    (_, response) => (response.writeHead(404).end('Not found'), true),
    { step: 'initialize', error: 'refused' },
  ],
  'no answer': [(method) => method !== 'server/discover' || undefined, { step: 'initialize', error: 'timeout' }],
  'a closed connection': [(_, response) => (response.destroy(), true), { step: 'initialize', error: 'unreachable' }],
  'an error at the handshake': [
    refusing('initialize', 200, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"broken"}}', json),
    { step: 'initialize', error: 'refused' },
  ],
  'a key that the list alone wants': [refusing('tools/list', 401), { step: 'list', error: 'refused' }],
  'a list in HTML': [
    refusing('tools/list', 200, '<p>', { 'content-type': 'text/html' }),
    { step: 'list', error: 'malformed' },
  ],
  'a list that is none': [answering('tools/list', { tools: null }), { step: 'list', error: 'malformed' }],
  'no list': [
    refusing(
      'tools/list',
      200,
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}',
      json,
    ),
    { step: 'list', error: 'refused' },
  ],
  'a list that is too large': [
    refusing('tools/list', 200, `"${'x'.repeat(1024 * 1024 + 1)}"`, json),
    { step: 'list', error: 'too_large' },
  ],
  'a list that never comes': [(method) => method === 'tools/list' || undefined, { step: 'list', error: 'timeout' }],
};

t.test('a list that cannot be read says at which step and why, until it can', async (t) => {
  const house = await openWorkspace();
  for (const [name, [oddly, wanted]] of Object.entries(failures)) {
    const answers: Answers = {};
    const server = await openServer(t, 'legacy', answers);
    const made = await house.console(toolsPath(house), {
      body: { kind: 'mcp', name: 'Orders', url: server.url, timeout_seconds: wanted.error === 'timeout' ? 1 : 20 },
    });
    const path = `${toolsPath(house)}/${made.json.id}`;
    t.equal(made.json.refresh_error, null);
    answers.oddly = oddly;
    t.match(
      await house.console(`${path}/refresh`, { method: 'POST' }),
      { status: 503, json: { error: { code: 'api_error' } } },
      name,
    );
    const { json: tool } = await house.console(path);
    t.match(
      tool,
      { refresh_error: { ...wanted, at: Number }, refreshed_at: null, functions: [] },
      `${name}: ${JSON.stringify(tool.refresh_error)}`,
    );
    t.same(Object.keys(tool.refresh_error), ['at', 'step', 'error']);
    answers.oddly = () => undefined;
    await house.console(path, { method: 'PATCH', body: { timeout_seconds: 20 } });
    t.match(
      await house.console(`${path}/refresh`, { method: 'POST' }),
      { status: 200, json: { refresh_error: null, functions: [{ name: 'look_up' }] } },
      name,
    );
  }
});

t.test('a server that is away fails at the connection', async (t) => {
  const house = await openWorkspace();
  const rows: readonly (readonly [string, string])[] = [
    ['http://127.0.0.1:1/mcp', 'unreachable'],
    ['http://name.invalid/mcp', 'unreachable'],
  ];
  for (const [url, error] of rows) {
    const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Away', url } });
    if (made.status !== 201) continue;
    await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' });
    t.match(
      (await house.console(`${toolsPath(house)}/${made.json.id}`)).json,
      { refresh_error: { step: 'connect', error } },
      url,
    );
  }
});
