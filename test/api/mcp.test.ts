/** The MCP server (contract 15), through the official client in both eras, and by hand. */
import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { installedAside } from '../client/aside.ts';
import { openHouse, openWorkspace, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { until } from './talk.ts';

type Era = 'modern' | 'legacy';

async function connect(t: Test, house: House, era: Era, key = house.key): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' } },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${house.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  );
  t.teardown(() => client.close());
  return client;
}

const send = (
  house: House,
  body: unknown,
  { key = house.key, headers = {}, method = 'POST' }: { key?: string | null; headers?: object; method?: string } = {},
): Promise<Response> =>
  fetch(`${house.url}/mcp`, {
    method,
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...headers,
    },
    ...(method === 'GET' || method === 'HEAD' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });

const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const toolOf = ({ id }: { id: string }): string => `ask_${id}`;
const wordsOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === 'text' ? part.text : part.type)).join();

for (const era of ['modern', 'legacy'] as const) {
  t.test(`a client of the ${era} era lists assistants and asks them`, async (t) => {
    const house = await openWorkspace();
    const assistant = await house.assistant({
      name: 'Support',
      description: 'Answers.',
      greeting: 'Welcome.',
      model: { provider: 'synthetic', name: 'tokens=3' },
    });
    await house.assistant({ visitor_fields: [{ name: 'email', type: 'email', required: true }] });
    const draft = await house.console(`/workspaces/${house.workspaceId}/assistants`, {
      body: { name: 'Draft', model: { provider: 'synthetic', name: 'tokens=1' } },
    });
    const client = await connect(t, house, era);
    const { tools, ttlMs, cacheScope } = await client.listTools();
    t.match([ttlMs, cacheScope], [60_000, 'private']);
    t.match(tools, [
      {
        name: toolOf(assistant),
        title: 'Support',
        inputSchema: { type: 'object', required: ['message'], properties: { message: {}, session_id: {} } },
        outputSchema: { properties: { session_id: {}, turn_id: {}, status: {}, text: {} } },
      },
    ]);
    t.equal(tools.length, 1, 'neither a draft nor one that wants visitor fields');

    const told: number[] = [];
    const answer = await client.callTool(
      { name: toolOf(assistant), arguments: { message: 'Hello' } },
      { onprogress: ({ progress }) => void told.push(progress) },
    );
    const { session_id: id, turn_id: turnId, status, text } = answer.structuredContent as Record<string, string>;
    t.match([answer.isError ?? false, status, text, wordsOf(answer)], [false, 'completed', 'word word word ', text]);
    t.ok(
      told.length > 0 &&
        told.at(-1)! <= text!.length &&
        told.every((count, index) => index === 0 || count > told[index - 1]!),
      `progress ${told}`,
    );
    const again = await client.callTool({ name: toolOf(assistant), arguments: { message: 'More', session_id: id } });
    t.equal((again.structuredContent as any).session_id, id);
    const { json } = await house.ask(`/sessions/${id}/transcript`, { key: house.key });
    t.match(
      json.data.map(({ role, content, turn_id }: any) => [role, content, turn_id === turnId]),
      [
        ['user', 'Hello', true],
        ['assistant', text, true],
        ['user', 'More', false],
        ['assistant', text, false],
      ],
      'no greeting',
    );

    for (const name of ['ask_asst_unknown', 'other', toolOf(draft.json)])
      await t.rejects(client.callTool({ name, arguments: { message: 'Hi' } }), { code: -32602 }, name);
    const restricted = await connect(t, house, era, (await house.newKey({ assistant_ids: [draft.json.id] })).key);
    t.same((await restricted.listTools()).tools, []);
    await t.rejects(restricted.callTool({ name: toolOf(assistant), arguments: { message: 'Hi' } }), { code: -32602 });
  });
}

t.test('refusals and turns that do not complete are results', async (t) => {
  const house = await openWorkspace();
  const client = await connect(t, house, 'modern');
  const ask = (assistant: { id: string }, given: Record<string, unknown> = { message: 'Hi' }) =>
    client.callTool({ name: toolOf(assistant), arguments: given });
  const fine = await house.assistant();
  const rows: [object, string][] = [
    [{}, 'The field `message` is required.'],
    [{ message: 1 }, 'The field `message` has the wrong type or a value that is not allowed.'],
    [{ message: 'x'.repeat(8001) }, 'The message is longer than 8000 characters.'],
    [{ message: 'Hi', session_id: 'ses_unknown' }, 'No such session.'],
  ];
  for (const [given, sentence] of rows) {
    const answer = await ask(fine, given as Record<string, unknown>);
    t.same([answer.isError, wordsOf(answer), answer.structuredContent], [true, sentence, undefined]);
  }
  const ended = await house.session(fine.id);
  await house.ask(`/sessions/${ended.id}/end`, { method: 'POST', key: house.key });
  t.match(await ask(fine, { message: 'Hi', session_id: ended.id }), {
    isError: true,
    content: [{ text: 'The session has ended.' }],
  });
  const other = await house.assistant();
  t.match(
    await ask(other, { message: 'Hi', session_id: (await house.session(fine.id)).id }),
    { isError: true, content: [{ text: 'No such session.' }] },
    "another assistant's",
  );

  const broken = await house.assistant({ model: { provider: 'synthetic', name: 'fail_at=0' } });
  const before = await ask(broken);
  t.same(
    [before.isError, wordsOf(before), before.structuredContent],
    [true, 'The assistant cannot answer at the moment.', undefined],
  );
  const partial = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=5,fail_at=2' } });
  t.match(await ask(partial), {
    isError: true,
    structuredContent: { status: 'failed', text: /^word /, session_id: /^ses_/, turn_id: /^turn_/ },
  });
  const fields = await house.assistant({ visitor_fields: [{ name: 'email', type: 'email', required: true }] });
  t.match(await ask(fields), {
    isError: true,
    content: [{ text: 'Required visitor fields are missing: `visitor.email`.' }],
  });
});

t.test('what comes before authentication, and what has the shape of part 2', async (t) => {
  const house = await openWorkspace();
  for (const method of ['GET', 'DELETE', 'PUT', 'PATCH', 'OPTIONS']) {
    const answer = await send(house, '', { method, key: null });
    t.equal(answer.status, 405, method);
    t.equal(answer.headers.get('allow'), 'POST');
    t.match(await answer.json(), { error: { type: 'not_found', code: 'route_not_found' }, request_id: /^req_/ });
  }
  const foreign = await rawAsk(house.url, '/mcp', {
    method: 'POST',
    headers: { Origin: 'https://evil.example' },
    body: JSON.stringify(list),
  });
  t.match([foreign.status, JSON.parse(foreign.text).error.code], [403, 'assistant_not_permitted']);
  const rebound = await rawAsk(house.url, '/mcp', {
    method: 'POST',
    headers: { Host: 'evil.example' },
    body: JSON.stringify(list),
  });
  t.match([rebound.status, JSON.parse(rebound.text).error.code], [403, 'assistant_not_permitted']);
  t.equal((await send(house, list, { headers: { origin: house.url } })).status, 200, 'our own origin');

  const unknown = await send(house, list, { key: 'wrong' });
  t.match(
    [unknown.status, unknown.headers.get('www-authenticate'), await unknown.json()],
    [401, 'Bearer', { error: { code: 'invalid_api_key' } }],
  );
  const { key } = await house.newKey({ limits: { requests: 1 } });
  t.equal((await send(house, list, { key })).status, 200);
  const limited = await send(house, list, { key });
  t.match([limited.status, await limited.json()], [429, { error: { code: 'rate_limited' } }]);
  t.ok(Number(limited.headers.get('retry-after')) > 0);
});

t.test('behind a proxy of the same machine, which is trusted or whose public address is known', async (t) => {
  const ways: readonly (readonly [Readonly<Record<string, string>>, number])[] = [
    [{}, 403],
    [{ PARLEY_TRUSTED_PROXIES: '127.0.0.1' }, 200],
    [{ PARLEY_CONSOLE_ORIGIN: 'https://parley.example' }, 200],
    [{ PARLEY_PUBLIC_URL: 'https://parley.example' }, 200],
    [{ PARLEY_PUBLIC_URL: 'https://other.example' }, 403],
  ];
  for (const [env, status] of ways) {
    const house = await openHouse(t, { env });
    const headers = {
      Host: 'parley.example',
      'X-Forwarded-For': '203.0.113.5',
      'X-Forwarded-Proto': 'https',
      Authorization: `Bearer ${house.key}`,
      'Content-Type': 'application/json',
    };
    t.equal(
      (await rawAsk(house.url, '/mcp', { method: 'POST', headers, body: JSON.stringify(list) })).status,
      status,
      JSON.stringify(env),
    );
  }
});

t.test('later failures are errors of JSON-RPC', async (t) => {
  const house = await openWorkspace();
  const broken = await send(house, '{');
  t.match([broken.status, await broken.json()], [400, { jsonrpc: '2.0', id: null, error: { code: -32700 } }]);
  t.match(await (await send(house, { jsonrpc: '2.0', id: 7, method: 'nothing/here' })).json(), {
    jsonrpc: '2.0',
    id: 7,
    error: { code: -32601 },
  });
  t.match(await (await send(house, { ...list, params: { cursor: 'no' } })).json(), { id: 1, error: { code: -32602 } });
  const long = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/list',
    params: { _meta: { filler: 'x'.repeat(1024 * 1024 - 200) } },
  };
  t.equal((await send(house, long)).status, 200, 'a body of nearly 1 MiB');
  const over = await send(house, { ...long, params: { _meta: { filler: 'x'.repeat(1024 * 1024) } } });
  t.match([over.status, await over.json()], [413, { jsonrpc: '2.0', error: { code: -32600 } }]);
});

t.test('a call of the wrong types is refused in words of ours', async (t) => {
  const house = await openWorkspace();
  const name = toolOf(await house.assistant());
  const answer = async (params: unknown) => {
    const text = await (await send(house, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })).text();
    return JSON.parse(
      text
        .split('\n')
        .find((line) => line.startsWith('data: '))!
        .slice('data: '.length),
    );
  };
  for (const params of [undefined, {}, [], { name: 5, arguments: { message: 'Hi' } }])
    t.match(
      await answer(params),
      { id: 1, error: { code: -32602, message: /^No such tool\.$/ } },
      JSON.stringify(params),
    );
  const words = 'The field `message` is required.';
  for (const given of [undefined, null, 'Hi', ['Hi']])
    t.match(
      await answer({ name, arguments: given }),
      { id: 1, result: { isError: true, content: [{ text: words }] } },
      JSON.stringify(given),
    );
});

const initialize = (protocolVersion: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } },
});

t.test(
  'the revisions of the protocol are five, and one that is none is answered with the newest of its era',
  async (t) => {
    const house = await openWorkspace();
    const revisions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
    for (const asked of [...revisions, '1999-01-01']) {
      const answered = ((await (await send(house, initialize(asked))).json()) as any).result.protocolVersion;
      t.equal(answered, revisions.includes(asked) ? asked : '2025-11-25', asked);
    }
    for (const version of revisions)
      t.equal((await send(house, list, { headers: { 'mcp-protocol-version': version } })).status, 200, version);
    t.equal((await send(house, list, { headers: { 'mcp-protocol-version': '1999-01-01' } })).status, 400);
  },
);

/** The newest package of the revisions before today's, and older ones; each is installed with 90 others. */
const packages = [
  ['1.32.2', '2025-11-25'],
  ['1.17.5', '2025-06-18'],
  ['1.10.2', '2025-03-26'],
] as const;
const areAllAsked = process.env['PARLEY_TEST_CLIENTS'] === 'all';

for (const [index, [version, revision]] of packages.entries()) {
  const sdk =
    index === 0 || areAllAsked
      ? await installedAside('@modelcontextprotocol/sdk', version)
      : { why: 'asked for with PARLEY_TEST_CLIENTS=all', folder: '' };
  t.test(
    `the package @modelcontextprotocol/sdk ${version} lists assistants and asks them`,
    { skip: sdk.why ?? false },
    async (t) => {
      const house = await openWorkspace();
      const assistant = await house.assistant({ name: 'Support', model: { provider: 'synthetic', name: 'tokens=3' } });
      const part = (name: string): Promise<any> =>
        import(pathToFileURL(join(sdk.folder, 'dist', 'esm', 'client', `${name}.js`)).href);
      const [{ Client: OldClient }, { StreamableHTTPClientTransport: OldTransport }] = [
        await part('index'),
        await part('streamableHttp'),
      ];
      const client = new OldClient({ name: 'old', version: '1' });
      const transport = new OldTransport(new URL(`${house.url}/mcp/`), {
        requestInit: { headers: { authorization: `Bearer ${house.key}` } },
      });
      await client.connect(transport);
      t.teardown(() => client.close());
      if (transport.protocolVersion !== undefined) t.equal(transport.protocolVersion, revision);
      t.match((await client.listTools()).tools, [{ name: toolOf(assistant) }]);
      const told: number[] = [];
      const answer = await client.callTool({ name: toolOf(assistant), arguments: { message: 'Hi' } }, undefined, {
        onprogress: ({ progress }: any) => void told.push(progress),
      });
      t.equal(wordsOf(answer), 'word word word ');
      t.ok(told.length > 0, 'with progress');
      await t.rejects(client.callTool({ name: 'ask_nobody', arguments: {} }), {
        code: -32602,
        message: /No such tool\./,
      });
    },
  );
}

t.test('a client that takes JSON alone gets a call whole, in each era', async (t) => {
  const house = await openWorkspace();
  const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=3' } });
  const call = (meta: object) => ({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name: toolOf(assistant), arguments: { message: 'Hi' }, _meta: { progressToken: 1, ...meta } },
  });
  const claims = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const modern = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': toolOf(assistant) };
  for (const [meta, headers] of [
    [{}, {}],
    [claims, modern],
  ] as const) {
    const whole = await send(house, call(meta), { headers: { ...headers, accept: 'application/json' } });
    t.match([whole.status, whole.headers.get('content-type')], [200, 'application/json']);
    t.match(await whole.json(), {
      id: 7,
      result: { structuredContent: { status: 'completed', text: 'word word word ' } },
    });
    for (const accept of [
      'text/event-stream',
      'application/json, text/event-stream',
      '*/*',
      'text/*',
      'application/json;q=0.5, TEXT/EVENT-STREAM',
    ]) {
      const streamed = await send(house, call(meta), { headers: { ...headers, accept } });
      t.match([streamed.status, streamed.headers.get('content-type')], [200, 'text/event-stream'], accept);
      t.match(await streamed.text(), /notifications\/progress[^]*word word word /, accept);
    }
  }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    t.equal((await send(house, list, { headers: { 'content-type': type } })).status, 200, type);
});

t.test('a client that takes JSON alone and leaves aborts the turn, and takes no place from others', async (t) => {
  const house = await openWorkspace();
  const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=3,hang_at=2' } });
  const leaving = new AbortController();
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 7,
    method: 'tools/call',
    params: { name: toolOf(assistant), arguments: { message: 'Hi' } },
  });
  const left = fetch(`${house.url}/mcp`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { accept: 'application/json', 'content-type': 'application/json', authorization: `Bearer ${house.key}` },
    body,
  });
  let session: any;
  t.ok(
    await until(
      async () => (session = (await house.ask(`/sessions?assistant_id=${assistant.id}`)).json.data[0])?.active_turn_id,
    ),
  );
  leaving.abort();
  await t.rejects(left);
  t.ok(
    await until(
      async () => (await house.ask(`/sessions/${session.id}/transcript`)).json.data.at(-1)?.stop_reason === 'aborted',
    ),
  );
});

/** Requests that the package of the protocol refuses by itself, in its own words. */
const refusedByPackage: readonly (readonly [string, unknown, Readonly<Record<string, string>>])[] = [
  ['no request', { jsonrpc: '2.0', id: 1 }, {}],
  ['no method', { jsonrpc: '2.0', id: 1, method: 5 }, {}],
  ['no object', 'null', {}],
  ['another version of JSON-RPC', { jsonrpc: '1.0', id: 1, method: 'tools/list' }, {}],
  ['an id that is none', { ...list, id: {} }, {}],
  ['parameters that are none', { ...list, params: [] }, {}],
  ['a cursor that is none', { ...list, params: { cursor: 5 } }, {}],
  [
    'a progress token that is none',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', _meta: { progressToken: {} } } },
    {},
  ],
  ['metadata that is none', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', _meta: 5 } }, {}],
  ['a task that is none', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'a', task: 5 } }, {}],
  ['an initialize without parameters', { jsonrpc: '2.0', id: 1, method: 'initialize' }, {}],
  ['an initialize of the wrong types', initialize(5), {}],
  ['a resource without its address', { jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: 5 } }, {}],
  ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'no/method' }, {}],
  ['an unknown revision', list, { 'mcp-protocol-version': '1999-01-01' }],
  ['a newer revision without its claims', list, { 'mcp-protocol-version': '2026-07-28' }],
  [
    'headers that say otherwise',
    list,
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'other' },
  ],
];

t.test('an error is a sentence of ours, whatever the package of the protocol refuses', async (t) => {
  const house = await openWorkspace();
  for (const [what, body, headers] of refusedByPackage) {
    for (const accept of ['application/json', 'application/json, text/event-stream']) {
      const answer = await send(house, body, { headers: { ...headers, accept } });
      const text = await answer.text();
      const json = text.startsWith('{')
        ? text
        : text
            .split('\n')
            .find((line) => line.startsWith('data: {'))!
            .slice('data: '.length);
      const { error } = JSON.parse(json);
      t.type(error?.code, 'number', `${what}: ${text}`);
      t.match(error?.message, /^[A-Z][A-Za-z', -]+\.(?:[A-Za-z', -]+\.)?$/, `${what}: ${text}`);
      t.notMatch(text, /zod|invalid_type|Bad Request|Parse error|expected|supported versions/i, what);
    }
  }
});

t.test('several messages in one body are none, so that each costs one of the budget', async (t) => {
  const house = await openWorkspace();
  for (const body of [[], [list], [list, list]]) {
    const refused = await send(house, body);
    t.match([refused.status, await refused.json()], [400, { jsonrpc: '2.0', id: null, error: { code: -32600 } }]);
  }
});

t.test('a resource is unknown, as all are', async (t) => {
  const house = await openWorkspace();
  for (const era of ['modern', 'legacy'] as const) {
    const client = await connect(t, house, era);
    await t.rejects(
      client.request({ method: 'resources/read', params: { uri: 'parley://none' } }),
      { code: -32602, data: { uri: 'parley://none' } },
      era,
    );
  }
});

t.test('a call is answered as an event stream, all else whole', async (t) => {
  const house = await openWorkspace();
  const assistant = await house.assistant();
  const listed = await send(house, list);
  t.match(listed.headers.get('content-type'), 'application/json');
  t.match(listed.headers.get('x-ratelimit-limit'), /^\d+$/);
  const called = await send(house, {
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: toolOf(assistant), arguments: { message: 'Hi' } },
  });
  t.match(called.headers.get('content-type'), 'text/event-stream');
  t.match(await called.text(), /data: \{.*"structuredContent"/);
});

t.test('the alias of an assistant is the name of its tool, with a full stop read as a line', async (t) => {
  const house = await openWorkspace();
  const { id } = await house.assistant({ alias: 'desk.v1', model: { provider: 'synthetic', name: 'tokens=1' } });
  const client = await connect(t, house, 'modern');
  t.same(
    (await client.listTools()).tools.map(({ name }) => name),
    ['ask_desk_v1'],
  );
  for (const name of ['ask_desk_v1', `ask_${id}`])
    t.equal(wordsOf(await client.callTool({ name, arguments: { message: 'Hi' } })), 'word ', name);
});

t.test('functions that wait for a caller or for approval are not offered', async (t) => {
  const house = await openWorkspace();
  const tools = `/workspaces/${house.workspaceId}/tools`;
  const look = { name: 'look', description: null, parameters: { type: 'object' } };
  for (const fields of [{ kind: 'client' }, { kind: 'http', url: 'http://127.0.0.1:9/', approval: 'always' }]) {
    const { json } = await house.console(tools, { body: { name: 'Own', functions: [look], ...fields } });
    const assistant = await house.assistant({
      tool_ids: [json.id],
      model: { provider: 'synthetic', name: 'call=look,tokens=2' },
    });
    const client = await connect(t, house, 'modern');
    t.match(
      await client.callTool({ name: toolOf(assistant), arguments: { message: 'Hi' } }),
      { structuredContent: { status: 'completed', text: 'word word ' } },
      fields.kind,
    );
  }
});

t.test('a turn that somebody else aborts is a result with what there is', async (t) => {
  const house = await openWorkspace();
  for (const era of ['modern', 'legacy'] as const) {
    const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=3,hang_at=2' } });
    const client = await connect(t, house, era);
    let aborting: Promise<unknown> | undefined;
    const abort = async (): Promise<void> => {
      const [session] = (await house.ask(`/sessions?assistant_id=${assistant.id}`)).json.data;
      await house.ask(`/sessions/${session.id}/turns/${session.active_turn_id}/abort`, { method: 'POST' });
    };
    const answer = await client.callTool(
      { name: toolOf(assistant), arguments: { message: 'Hi' } },
      { onprogress: () => void (aborting ??= abort()) },
    );
    await aborting;
    t.match(
      answer,
      {
        isError: true,
        content: [{ text: 'The turn was aborted.' }],
        structuredContent: { status: 'aborted', text: /^word / },
      },
      era,
    );
  }
});

t.test('a client that leaves aborts the turn', async (t) => {
  const house = await openWorkspace();
  for (const era of ['modern', 'legacy'] as const) {
    const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=3,hang_at=2' } });
    const client = await connect(t, house, era);
    const leaving = new AbortController();
    const left = client.callTool(
      { name: toolOf(assistant), arguments: { message: 'Hi' } },
      { signal: leaving.signal, onprogress: () => leaving.abort() },
    );
    await t.rejects(left);
    if (era === 'legacy') await client.close();
    const { json: sessions } = await house.ask(`/sessions?assistant_id=${assistant.id}`, { key: house.key });
    const path = `/sessions/${sessions.data[0].id}/transcript`;
    let last;
    do last = (await house.ask(path, { key: house.key })).json.data.at(-1);
    while (last?.status === 'streaming' || last === undefined || last.role === 'user');
    t.match([last.status, last.stop_reason, last.content], ['partial', 'aborted', /^word/], era);
  }
});
