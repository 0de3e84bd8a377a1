/**
 * JSON that is nested more deeply than the stack allows, wherever a client, a provider or a tool can send it: refused
 * or passed over, and never a failure of ours.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { limits } from '../../src/base/limits.ts';
import { answeredRoutes } from '../../src/http/routes.ts';
import { openServer } from '../api/mcp-server.ts';
import { data, delta, done, eventStream, provider } from '../providers/model/provider.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { frame, RawSocket } from '../repeat/socket.ts';
import { openWorld, type World } from './world.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const inObjects = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
/** Deeper than records are stored and sent, than a reader by recursion gets, and than `JSON.stringify`. */
const depths = [1_600, 4_500, 50_000];

/** No request failed for a fault of ours. */
const faults = ({ house }: World): string[] =>
  (house.stdout() + house.stderr()).split('\n').filter((line) => /"level":"(?:error|fatal)"|call stack/.test(line));

for (const edge of ['uws', 'node'] as const) {
  t.test(edge, async (t) => {
    const world = await openWorld(t, edge, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'warn' } });
    await linked(world.house, 'deep', { channels: { voice: true, link: true, widget: true } });
    const visit = await Visit.to(world.house, 'deep');
    await t.test('each field of each route, every other route', (t) => fields(t, world, visit, edge));
    await t.test('messages of the MCP server', (t) => messages(t, world));
    await t.test('deeply nested messages of sockets are refused', (t) => sockets(t, world));
    if (edge === 'uws') await t.test('answers of models and tools', (t) => answers(t, world));
    t.same(faults(world), []);
  });
}

const [depth] = depths.slice(-1) as [number];

/** Sends a body as it is. The document describes no such answers. */
async function send(
  url: string,
  key: string,
  body: string,
  method = 'POST',
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; json: any }> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body,
  });
  const text = await response.text();
  return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : undefined };
}

/** Sends each field of every other route: the reader of a body is the same for both engines. */
async function fields(t: Test, { house }: World, visit: Visit, edge: 'uws' | 'node'): Promise<void> {
  const taking = answeredRoutes({ managementPort: null }).filter(
    ({ method, takesBytes }) => method !== 'GET' && method !== 'DELETE' && !takesBytes,
  );
  for (const [index, { method, path, body }] of taking.entries()) {
    if (index % 2 !== (edge === 'uws' ? 0 : 1)) continue;
    const key = path.startsWith('/console/') ? house.operatorToken : path.startsWith('/p/') ? visit.token : house.key;
    const named = path
      .replace('{slug}', 'deep')
      .replace('{w}', house.workspaceId)
      .replace(/\{\w+\}/g, 'none');
    const names = ['unknown', ...Object.keys((body?.schema as { properties?: object })?.properties ?? {})];
    for (const text of [nested(depth), ...names.map((name) => `{"${name}":${nested(depth)}}`)]) {
      const { status } = await send(house.url + named, key, text, method);
      t.ok(status < 500, `${method} ${path} ${text.slice(0, 20)}: ${status}`);
    }
  }
  const remembered = await send(
    `${house.url}/sessions`,
    house.key,
    `{"assistant_id":"none","unknown":${nested(depth)}}`,
    'POST',
    { 'idempotency-key': 'deep' },
  );
  t.equal(remembered.status, 404);
}

async function messages(t: Test, { house }: World): Promise<void> {
  const ask = (body: string) =>
    send(`${house.url}/mcp`, house.key, body, 'POST', { accept: 'application/json, text/event-stream' });
  const rpc = (method: string, params: string, id = '1'): string =>
    `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`;
  for (const deep of depths.flatMap((one) => [nested(one), inObjects(one)])) {
    const sent = [
      rpc('tools/call', `{"name":"ask_none","arguments":{"message":"Hi","x":${deep}}}`),
      rpc('tools/call', `{"name":"ask_none","arguments":{"message":${deep}}}`),
      rpc('tools/list', `{"_meta":{"a":${deep}}}`),
      rpc('tools/list', `{"cursor":${deep}}`),
      rpc('tools/list', '{}', deep),
      rpc(
        'initialize',
        `{"protocolVersion":"2025-06-18","capabilities":{"experimental":{"a":${deep}}},"clientInfo":{"name":"a","version":"1"}}`,
      ),
      rpc('resources/read', `{"uri":${deep}}`),
      `{"jsonrpc":"2.0","method":"notifications/none","params":{"a":${deep}}}`,
      deep,
    ];
    for (const body of sent) {
      const { status, json } = await ask(body);
      t.equal(status, 400, body.slice(0, 60));
      t.equal(json.error.code, -32600);
    }
  }
  const shallow = await ask(rpc('tools/list', `{"_meta":{"a":${nested(50)}}}`));
  t.equal(shallow.status, 200, 'an ordinary depth');
}

async function sockets(t: Test, { house, port }: World): Promise<void> {
  const assistant = await house.assistant({
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'audio_ms=300', transcription_name: 'text=hello' },
  });
  const session = await house.session(assistant.id);
  const token = async (path: string, body: object): Promise<string> => (await house.ask(path, { body })).json.token;
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const opened: Readonly<Record<string, () => Promise<RawSocket>>> = {
    transcription: async () =>
      RawSocket.open(
        port,
        `/transcription?token=${await token('/transcription-tokens', { assistant_id: assistant.id })}`,
      ),
    call: async () => RawSocket.open(port, `/call?token=${await token('/call-tokens', { session_id: session.id })}`),
    realtime: () => RawSocket.open(port, `/v1/realtime?model=${assistant.id}`, bearer(house.key)),
    inspect: () => RawSocket.open(port, '/console/api/inspect', bearer(house.operatorToken)),
  };
  const types = [
    'start',
    'flush',
    'message',
    'played',
    'session.update',
    'conversation.item.create',
    'response.create',
    'input_audio_buffer.append',
    'watch',
    'unknown',
  ];
  // A frame of the sender has 64 KB at most.
  const deep = nested(20_000);
  for (const [name, open] of Object.entries(opened)) {
    for (const text of [
      deep,
      ...types.flatMap((type) =>
        ['session', 'item', 'text', 'audio', 'event_id', 'id']
          .map((field) => `{"type":"${type}","${field}":${deep}}`)
          .slice(0, name === 'realtime' ? 6 : 2),
      ),
    ]) {
      const socket = await open();
      await socket.send(frame('text', text));
      await socket.taken();
      t.notMatch(socket.refusal ?? '', /api_error/, `${name} ${text.slice(0, 50)}`);
      socket.destroy();
    }
  }
}

async function answers(t: Test, { house }: World): Promise<void> {
  const deep = nested(depth);
  let said: readonly string[] = [];
  const upstream = await provider((response) => {
    response.writeHead(200, eventStream);
    for (const event of said) response.write(event);
    response.end();
  });
  t.teardown(() => upstream.close());
  const inWorkspace = `/workspaces/${house.workspaceId}`;
  const credential = async (kind: string) =>
    (
      await house.console(`${inWorkspace}/credentials`, {
        body: { kind: 'model', provider: kind, base_url: upstream.baseUrl, api_key: 'k' },
      })
    ).json.id as string;
  const turn = async (assistantId: string): Promise<string> => {
    const session = await house.session(assistantId);
    const answer = await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
    return `${answer.status} ${answer.text}`;
  };
  const call = (given: string): string =>
    `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":${given}}}]}}]}`;
  const openai: readonly (readonly string[])[] = [
    [data(deep)],
    [data(`{"choices":${deep}}`)],
    [data(`{"choices":[{"delta":{"content":${deep}}}]}`), delta('Hi'), done],
    [data(call(deep)), done],
    [data(call(`{"a":${deep}}`)), done],
    [
      data(call(JSON.stringify(`{"a":${deep}}`))),
      data('{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}'),
      done,
    ],
    ...depths.map((one) => [
      data(
        `{"choices":[{"delta":{"a":${nested(one)},"tool_calls":[{"index":0,"id":"c","b":${nested(one)},"function":{"name":"f","arguments":"{}"}}]}}]}`,
      ),
      data('{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}'),
      done,
    ]),
    [delta('Hi'), data(`{"choices":[{"delta":{},"finish_reason":${deep}}],"usage":${deep}}`), done],
    [data(`{"error":${deep}}`)],
    [data(`{"error":{"message":"too long","param":${deep}}}`)],
    [`{"choices":[{"message":{"content":"Hi","a":${deep}}}]}`],
  ];
  const anthropic: readonly (readonly string[])[] = [
    [
      data(
        `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c","name":"f","input":{"a":${deep}}}}`,
      ),
      data('{"type":"message_stop"}'),
    ],
    [
      data(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":${deep}}}`),
      data('{"type":"message_stop"}'),
    ],
    [data(`{"type":"message_start","message":{"content":${deep}}}`), data('{"type":"message_stop"}')],
  ];
  for (const [kind, rows] of [
    ['openai', openai],
    ['anthropic', anthropic],
  ] as const) {
    const assistant = await house.assistant({
      model: { provider: kind, name: 'm', credential_id: await credential(kind) },
    });
    for (said of rows) {
      const ended = await turn(assistant.id);
      t.match(ended, /^503 |event: (?:turn\.completed|error)/, `${kind} ${said[0]!.slice(0, 70)}`);
      t.notMatch(ended, /api_error/);
    }
  }
  await tools(t, house, deep);
}

/** Answers of tools, which a model of ours calls once each. */
async function tools(t: Test, house: World['house'], deep: string): Promise<void> {
  const server = createServer(
    (request, response) =>
      void request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(deep)),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => void server.close());
  let answer = '';
  const mcp = await openServer(t, 'modern', {
    call: (_, response, id) => (
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete",${answer}}}`),
      'given'
    ),
  });
  const path = `/workspaces/${house.workspaceId}/tools`;
  const http = (
    await house.console(path, {
      body: {
        kind: 'http',
        name: 'H',
        url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        functions: [{ name: 'f' }],
      },
    })
  ).json;
  const remote = (await house.console(path, { body: { kind: 'mcp', name: 'M', url: mcp.url } })).json;
  t.equal((await house.console(`${path}/${remote.id}/refresh`, { method: 'POST' })).status, 200);
  await house.console(`${path}/${remote.id}`, {
    method: 'PATCH',
    body: { functions: [{ name: 'look_up', enabled: true }] },
  });
  const outcome = async (id: string, name: string) =>
    (await house.console(`${path}/${id}/test`, { body: { name, arguments: { order: 'a' } } })).json;
  t.match(await outcome(http.id, 'f'), { status: 'completed' }, 'a text that an HTTP tool gives is passed on');
  for (answer of [
    `"content":[],"structuredContent":{"a":${deep}}`,
    `"content":[{"type":"text","text":${deep}}]`,
    `"content":${deep}`,
    `"content":[{"type":"text","text":"Hi"}],"_meta":{"a":${deep}}`,
  ]) {
    const { status, error } = await outcome(remote.id, 'look_up');
    t.ok(status === 'completed' || error === 'malformed', `${answer.slice(0, 50)}: ${status} ${error}`);
  }
  t.equal(limits.toolAnswerBytesMax > deep.length, true);
}
