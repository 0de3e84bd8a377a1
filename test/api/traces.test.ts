/** The spans of requests and turns, as a collector of OpenTelemetry gets them (contract 16). */
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Owner } from '../folders.ts';
import { openCollector, treeOf, type Collector } from '../operations/tracing/collector.ts';
import { opened } from './caller.ts';
import { edges, leased, openHouse, type House } from './house.ts';
import { openServer } from './mcp-server.ts';
import { openReceiver } from '../webhook-receiver.ts';
import { answered, begin, onProvider, say, synthetic, until } from './talk.ts';

interface Scene {
  readonly collector: Collector;
  readonly house: House;
}

async function openScene(t: Owner, env: Record<string, string> = {}): Promise<Scene> {
  const collector = await openCollector(t);
  const house = await openHouse(t, { env: { ...collector.env, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', ...env } });
  return { collector, house };
}

/** Opens a tool, and keeps the headers of its requests. */
async function openTool(t: Owner, house: House, status = 200): Promise<{ id: string; heads: IncomingHttpHeaders[] }> {
  const heads: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heads.push(request.headers);
    request.resume();
    request.on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end('{"shipped":true}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const { json } = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: {
      kind: 'http',
      name: 'Orders',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call`,
      functions: [{ name: 'look_up', description: 'Looks up.', parameters: { type: 'object', properties: {} } }],
    },
  });
  return { id: json.id, heads };
}

/** The tree in docs/operating.md. */
const twoCalls = /^```text\n(POST [^`]*?)\n```/m
  .exec(readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8'))![1]!
  .split('\n');

const given = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const traceparent = `00-${given.trace}-${given.span}-01`;

t.test(
  'the spans of a turn with two tool calls are those of the table, under the parent that its key names',
  async (t) => {
    const { collector, house } = await openScene(t);
    const tool = await openTool(t, house);
    const assistant = await synthetic(house, 'call=look_up,calls=2,tokens=3', { name: 'Support', tool_ids: [tool.id] });
    const { id, stream } = await begin(house, assistant.id, { headers: { traceparent, tracestate: 'vendor=secret' } });
    const events = await stream.rest();
    const spans = await collector.traceWith('POST /sessions/{id}/chat');
    t.same(sorted(treeOf(spans)), sorted(twoCalls));

    const [request, turn] = ['POST /sessions/{id}/chat', 'invoke_agent Support'].map((name) =>
      spans.find((span) => span.name === name),
    );
    t.match(request, { traceId: given.trace, parentId: given.span, kind: 'server', failed: false, events: 0 });
    t.match(request!.attributes, {
      'http.request.method': 'POST',
      'http.route': '/sessions/{id}/chat',
      'http.response.status_code': 200,
      'parley.request_id': stream.headers.get('x-request-id'),
    });
    t.equal(Object.keys(request!.attributes).length, 4);

    const usage = events.at(-1)!.data.usage;
    t.equal(turn!.kind, 'internal');
    t.same(turn!.attributes, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.id': assistant.id,
      'gen_ai.agent.name': 'Support',
      'gen_ai.conversation.id': id,
      'parley.turn_id': stream.turnId,
      'parley.console_url': `/console/${house.workspaceId}/live/turn/${stream.turnId}?session=${id}`,
      'parley.appends': turn!.attributes['parley.appends'],
      'gen_ai.usage.input_tokens': usage.input_tokens,
      'gen_ai.usage.output_tokens': usage.output_tokens,
    });
    t.type(turn!.attributes['parley.appends'], 'number');

    const rounds = spans.filter(({ name }) => name.startsWith('chat '));
    t.same(
      rounds.map(({ attributes }) => attributes['gen_ai.response.finish_reasons']),
      [['tool_calls'], ['stop']],
    );
    for (const { attributes, kind } of rounds) {
      t.equal(kind, 'client');
      t.match(attributes, {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'synthetic',
        'gen_ai.request.model': 'call=look_up,calls=2,tokens=3',
        'gen_ai.request.stream': true,
        'gen_ai.response.time_to_first_chunk': Number,
        'gen_ai.usage.input_tokens': Number,
        'gen_ai.usage.output_tokens': Number,
      });
    }

    const calls = spans.filter(({ name }) => name === 'execute_tool look_up');
    const ids = events.filter(({ event }) => event === 'tool.started').map(({ data }) => String(data.call_id));
    t.same(calls.map(({ attributes }) => String(attributes['gen_ai.tool.call.id'])).toSorted(), ids.toSorted());
    for (const call of calls) {
      t.equal(call.kind, 'internal');
      t.match(call.attributes, {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'look_up',
        'gen_ai.tool.type': 'function',
      });
      t.notOk('error.type' in call.attributes);
    }
    t.same(
      tool.heads.map((head) => String(head['traceparent'])).toSorted(),
      calls.map(({ spanId }) => `00-${given.trace}-${spanId}-01`).toSorted(),
      'each call goes out as the parent of what its tool does',
    );
    t.same(
      tool.heads.map((head) => head['tracestate']),
      [undefined, undefined],
    );

    for (const { attributes, kind } of spans.filter(({ name }) => /^(?:begin|step|finish)$/.test(name)))
      t.match([kind, attributes], ['client', { 'db.system.name': leased ? 'redis' : 'memory' }]);
    t.ok(
      spans.every((span) => span.end >= span.start && span.start >= request!.start),
      'none begins before the request',
    );
    t.ok(spans.every(({ resource }) => resource['service.name'] === 'parley'));
  },
);

/** Steps that store a result may begin before or after each other. */
const sorted = (lines: readonly string[]): string[] => lines.toSorted();

for (const edge of edges)
  t.test(`a parent is taken from the header of a valid key alone, if it is well-formed (${edge})`, async (t) => {
    const { collector, house } = await openScene(t, { PARLEY_EDGE: edge });
    const assistant = await synthetic(house, 'tokens=1', { channels: { link: true }, link: { slug: 'hello' } });
    const asks: [path: string, ask: object][] = [
      ['/assistants', {}],
      ['/assistants', { headers: { traceparent: `${traceparent}-more` } }],
      ['/assistants', { headers: { traceparent: traceparent.toUpperCase() } }],
      ['/assistants', { headers: { traceparent: `00-${'0'.repeat(32)}-${given.span}-01` } }],
      ['/assistants', { headers: { traceparent: `00-${given.trace}-${'0'.repeat(16)}-01` } }],
      ['/assistants', { headers: { traceparent: `ff-${given.trace}-${given.span}-01` } }],
      ['/assistants', { headers: { traceparent: '' } }],
      ['/assistants', { key: null, headers: { traceparent } }],
      ['/assistants', { key: 'sk_unknown', headers: { traceparent } }],
      ['/p/hello/config', { key: null, headers: { traceparent } }],
      ['/p/hello/config', { headers: { traceparent } }],
      ['/console/api/workspaces', { key: house.operatorToken, headers: { traceparent } }],
      ['/nowhere', { headers: { traceparent } }],
      ['/healthz', { headers: { traceparent } }],
      ['/readyz', { headers: { traceparent } }],
      ['/metrics', { headers: { traceparent } }],
    ];
    const before = collector.spans.length;
    const ids = new Map<string, string>();
    for (const [path, ask] of asks) {
      const { status, headers } = await house.ask(path, ask);
      ids.set(headers.get('x-request-id')!, `${path} ${status}`);
    }
    const last = await house.ask('/assistants', { headers: { traceparent } });
    const spans = await until(() => {
      const found = collector.spans.slice(before);
      return (
        found.some(({ attributes }) => attributes['parley.request_id'] === last.headers.get('x-request-id')) && found
      );
    });
    const of = (requestId: string) => spans.filter(({ attributes }) => attributes['parley.request_id'] === requestId);
    for (const [requestId, what] of ids) {
      const isService = /^\/(?:healthz|readyz|metrics)/.test(what);
      t.same(
        of(requestId).map(({ parentId }) => parentId),
        isService ? [] : [''],
        what,
      );
      t.not(of(requestId)[0]?.traceId, given.trace);
    }
    t.match(of(last.headers.get('x-request-id')!), [{ traceId: given.trace, parentId: given.span }]);
    const refused = [...ids].find(([, what]) => what === '/assistants 401')![0];
    t.match(of(refused)[0], {
      name: 'GET /assistants',
      failed: false,
      attributes: { 'error.type': 'missing_api_key', 'http.response.status_code': 401 },
    });
    const unknown = [...ids].find(([, what]) => what === '/nowhere 404')![0];
    t.match(of(unknown)[0], { name: 'GET', attributes: { 'http.route': undefined, 'error.type': 'route_not_found' } });
    t.ok(assistant);
  });

t.test('the sampling decision of the caller holds, and goes out to tools', async (t) => {
  const { collector, house } = await openScene(t);
  const tool = await openTool(t, house);
  const assistant = await synthetic(house, 'call=look_up,tokens=1', { name: 'Unseen', tool_ids: [tool.id] });
  const headers = { traceparent: traceparent.replace(/01$/, '00') };
  await (await begin(house, assistant.id, { headers })).stream.rest();
  await (await begin(house, assistant.id)).stream.rest();
  const seen = await collector.traceWith('POST /sessions/{id}/chat');
  t.not(seen[0]!.traceId, given.trace);
  t.equal(collector.spans.filter(({ traceId }) => traceId === given.trace).length, 0);
  t.match(tool.heads[0]!['traceparent'], new RegExp(`^00-${given.trace}-[0-9a-f]{16}-00$`));
});

t.test("OpenTelemetry's other variables hold: sampler, resource, headers, limits, propagators", async (t) => {
  const { collector, house } = await openScene(t, {
    OTEL_SERVICE_NAME: 'front-desk',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.namespace=support',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=seven',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
    OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT: '5',
    OTEL_PROPAGATORS: 'none',
  });
  const tool = await openTool(t, house);
  const assistant = await synthetic(house, 'call=look_up,tokens=1', { name: 'Long name', tool_ids: [tool.id] });
  await (await begin(house, assistant.id)).stream.rest();
  const [request] = await collector.traceWith('POST /sessions/{id}/chat');
  t.match(request!.resource, {
    'service.name': 'front-desk',
    'service.namespace': 'support',
    'deployment.environment.name': 'test',
  });
  t.equal(request!.attributes['http.route'], '/sess');
  t.equal(collector.heads[0]!['x-tenant'], 'seven');
  t.equal(collector.heads[0]!['content-type'], 'application/x-protobuf');
  t.equal(collector.paths[0], '/v1/traces');
  t.same(
    tool.heads.map((head) => head['traceparent']),
    [undefined],
  );
});

t.test('a sampler that is off drops every span', async (t) => {
  const { collector, house } = await openScene(t, { OTEL_TRACES_SAMPLER: 'always_off' });
  const assistant = await synthetic(house, 'tokens=1');
  await (await begin(house, assistant.id)).stream.rest();
  await house.stop();
  t.same(collector.spans, []);
});

t.test(
  'a failed call and a call of an unknown tool have spans with the error, and no name that the model made up',
  async (t) => {
    const { collector, house } = await openScene(t);
    const tool = await openTool(t, house, 500);
    const failing = await synthetic(house, 'call=look_up,tokens=1', { name: 'Failing', tool_ids: [tool.id] });
    await (await begin(house, failing.id)).stream.rest();
    const spans = await collector.traceWith('invoke_agent Failing');
    t.match(
      spans.find(({ name }) => name === 'execute_tool look_up'),
      { failed: true, attributes: { 'error.type': 'tool_error' } },
    );
    t.equal(spans.find(({ name }) => name.startsWith('invoke_agent'))!.failed, false, 'the turn completes');

    const inventing = await synthetic(house, 'call=invented,tokens=1', { name: 'Inventing', tool_ids: [tool.id] });
    await (await begin(house, inventing.id)).stream.rest();
    const unknown = (await collector.traceWith('invoke_agent Inventing')).find(({ name }) => name === 'execute_tool');
    t.match(unknown, { failed: true, attributes: { 'error.type': 'unknown_tool' } });
    t.notOk('gen_ai.tool.name' in unknown!.attributes);

    const careless = await synthetic(house, 'call=look_up,call_bad=1,tokens=1', {
      name: 'Careless',
      tool_ids: [tool.id],
    });
    await (await begin(house, careless.id)).stream.rest();
    const unsent = (await collector.traceWith('invoke_agent Careless')).find(({ name }) =>
      name.startsWith('execute_tool'),
    );
    t.match(unsent, { name: 'execute_tool look_up', failed: true, attributes: { 'error.type': 'arguments' } });
    t.equal(tool.heads.length, 1, 'only the first call was sent');
  },
);

t.test('a turn that fails before its output has a span with its error, and so does its request', async (t) => {
  const { collector, house } = await openScene(t);
  const assistant = await synthetic(house, 'fail_at=0,fail_as=status', { name: 'Broken' });
  const session = await house.session(assistant.id);
  const answer = await house.ask(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
  t.equal(answer.status, 503);
  const spans = await collector.traceWith('invoke_agent Broken');
  t.same(treeOf(spans), [
    'POST /sessions/{id}/chat',
    '  invoke_agent Broken',
    '    begin',
    '    chat fail_at=0,fail_as=status',
    '    withdraw',
  ]);
  const errors = spans.map(({ name, failed, attributes }) => [name.split(' ')[0], failed, attributes['error.type']]);
  t.same(errors, [
    ['POST', true, 'assistant_unavailable'],
    ['invoke_agent', true, 'assistant_unavailable'],
    ['begin', false, undefined],
    ['chat', true, 'status'],
    ['withdraw', false, undefined],
  ]);
});

t.test('an aborted turn has all its spans, and a refused chat has none of a turn', async (t) => {
  const { collector, house } = await openScene(t);
  const assistant = await synthetic(house, 'hang_at=1', { name: 'Slow' });
  const { id, stream } = await begin(house, assistant.id);
  const refused = await house.ask(`/sessions/${id}/chat`, { body: { message: 'Again' } });
  t.equal(refused.json.error.code, 'turn_in_progress');
  await house.ask(`/sessions/${id}/turns/${stream.turnId}/abort`, { method: 'POST' });
  await stream.rest();
  const spans = await collector.traceWith('invoke_agent Slow');
  t.same(treeOf(spans).slice(0, 4), [
    'POST /sessions/{id}/chat',
    '  invoke_agent Slow',
    '    begin',
    '    chat hang_at=1',
  ]);
  t.notOk(spans.some(({ failed }) => failed));
  const other = await until(() =>
    collector.spans.find(({ attributes }) => attributes['error.type'] === 'turn_in_progress'),
  );
  t.same(treeOf(collector.spans.filter(({ traceId }) => traceId === other.traceId)), ['POST /sessions/{id}/chat']);
});

t.test('a repeated chat and a resumed stream are linked to the span of the turn', async (t) => {
  const { collector, house } = await openScene(t);
  const assistant = await synthetic(house, 'hang_at=1', { name: 'Slow' });
  const session = await house.session(assistant.id);
  const ask = { headers: { 'idempotency-key': 'once' } };
  const first = await say(house, session.id, 'Hello', ask);
  const repeated = await say(house, session.id, 'Hello', ask);
  const resumed = await house.stream(`/sessions/${session.id}/turns/${first.turnId}/events`);
  await house.ask(`/sessions/${session.id}/turns/${first.turnId}/abort`, { method: 'POST' });
  await Promise.all([first, repeated, resumed].map((stream) => stream.rest()));
  const late = await house.stream(`/sessions/${session.id}/turns/${first.turnId}/events`);
  await late.rest();
  const turn = await until(() => collector.spans.find(({ name }) => name === 'invoke_agent Slow'));
  const of = ({ headers }: { headers: Headers }) =>
    until(() =>
      collector.spans.find(({ attributes }) => attributes['parley.request_id'] === headers.get('x-request-id')),
    );
  t.equal((await of(first)).spanId, turn.parentId);
  for (const stream of [repeated, resumed, late]) {
    const span = await of(stream);
    t.same(span.links, [turn.spanId]);
    t.same(
      treeOf(collector.spans.filter(({ traceId }) => traceId === span.traceId)),
      [span.name],
      'it begins a trace of its own, in which no turn is',
    );
  }
  t.equal(collector.spans.filter(({ name }) => name === 'invoke_agent Slow').length, 1);
});

t.test('a turn of each front stands under its request', async (t) => {
  const { collector, house } = await openScene(t);
  await synthetic(house, 'tokens=1', { name: 'Front', alias: 'front' });
  const messages = [{ role: 'user', content: 'Hello' }];
  await house.ask('/v1/chat/completions', { body: { model: 'front', messages } });
  await house.ask('/v1/responses', { body: { model: 'front', input: 'Hello' } });
  await house.ask('/mcp', {
    headers: { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-06-18' },
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'ask_front', arguments: { message: 'Hello' } },
    },
  });
  for (const route of ['/v1/chat/completions', '/v1/responses', '/mcp']) {
    const tree = treeOf(await collector.traceWith(`POST ${route}`));
    t.same(tree, [`POST ${route}`, '  invoke_agent Front', '    begin', '    chat tokens=1', '    finish'], route);
  }
});

for (const [era, version] of [
  ['modern', '2026-07-28'],
  ['legacy', '2025-06-18'],
] as const)
  t.test(`a call of an MCP server of the ${era} era is a client's span, and has its parent in _meta`, async (t) => {
    const { collector, house } = await openScene(t);
    const server = await openServer(t, era, {});
    const path = `/workspaces/${house.workspaceId}/tools`;
    const { json: tool } = await house.console(path, { body: { kind: 'mcp', name: 'Orders', url: server.url } });
    await house.console(`${path}/${tool.id}/refresh`, { method: 'POST' });
    const functions = [{ name: 'look_up', enabled: true }];
    await house.console(`${path}/${tool.id}`, { method: 'PATCH', body: { functions } });
    const assistant = await synthetic(house, 'call=look_up,tokens=1', { name: 'Remote', tool_ids: [tool.id] });
    await (await begin(house, assistant.id)).stream.rest();
    const spans = await collector.traceWith('invoke_agent Remote');
    const call = spans.find(({ name }) => name === 'execute_tool look_up')!;
    t.match(call, {
      kind: 'client',
      attributes: { 'mcp.method.name': 'tools/call', 'mcp.protocol.version': version, 'gen_ai.tool.name': 'look_up' },
    });
    const sent = server.got.filter(({ method }) => method === 'tools/call');
    t.same(
      sent.map(({ params }) => params._meta.traceparent),
      [`00-${call.traceId}-${call.spanId}-01`],
    );
    t.same(
      sent.map(({ headers }) => headers['traceparent']),
      [undefined],
    );
  });

t.test('providers of models get requests without trace headers', async (t) => {
  const { collector, house } = await openScene(t);
  const { provider, assistant } = await onProvider(t, house, (response) =>
    answered(response, ['Hello'], { prompt_tokens: 7, completion_tokens: 2 }),
  );
  await (await begin(house, assistant.id, { headers: { traceparent } })).stream.rest();
  const spans = await collector.traceWith('chat canary-model');
  t.match(spans.find(({ name }) => name === 'chat canary-model')!.attributes, {
    'gen_ai.provider.name': 'openai',
    'server.address': '127.0.0.1',
    'gen_ai.usage.input_tokens': 7,
    'gen_ai.usage.output_tokens': 2,
  });
  t.ok(provider.requests.length > 0);
  t.notMatch(JSON.stringify(provider.requests.map(({ headers }) => headers)), /traceparent/);
});

t.test("a visitor's turn begins a trace of its own", async (t) => {
  const { collector, house } = await openScene(t);
  const slug = 'public';
  await synthetic(house, 'tokens=1', { name: 'Public', channels: { link: true }, link: { slug } });
  const headers = { traceparent };
  const { json: visitor } = await house.ask(`/p/${slug}/visitors`, { key: null, headers, body: { channel: 'link' } });
  const ask = { key: visitor.token, headers };
  const { json: session } = await house.ask(`/p/${slug}/sessions`, { ...ask, body: {} });
  await (await house.stream(`/p/${slug}/sessions/${session.id}/chat`, { ...ask, body: { message: 'Hello' } })).rest();
  const spans = await collector.traceWith('invoke_agent Public');
  t.not(spans[0]!.traceId, given.trace);
  t.same(treeOf(spans), [
    'POST /p/{slug}/sessions/{id}/chat',
    '  invoke_agent Public',
    '    begin',
    '    chat tokens=1',
    '    finish',
  ]);
});

t.test('the turns of a call are below the request that opened its socket', async (t) => {
  const { collector, house } = await openScene(t);
  const caller = await opened(house, { model: 'tokens=2', fields: { name: 'Spoken' } });
  const playing = setInterval(() => caller.report(), 50);
  t.teardown(() => clearInterval(playing));
  for (const [index, text] of ['First', 'Second'].entries()) {
    caller.send({ type: 'message', text });
    await until(() => caller.heard.filter(({ type }) => type === 'turn.completed').length > index);
  }
  clearInterval(playing);
  caller.socket.close();
  const spans = await until(async () => {
    const all = await collector.traceWith('invoke_agent Spoken');
    return all.filter(({ name }) => name === 'invoke_agent Spoken').length === 2 && all;
  });
  const turn = ['  invoke_agent Spoken', '    begin', '    chat tokens=2', '    finish'];
  t.same(treeOf(spans), ['GET /call', ...turn, ...turn]);
  t.equal(spans[0]!.attributes['http.response.status_code'], 101);
});

t.test('the step that seals a turn of a dead process is in the trace of the turn', async (t) => {
  const store: Record<string, string> = leased ? {} : { PARLEY_STORE: 'lmdb:./data' };
  const { collector, house } = await openScene(t, store);
  const assistant = await synthetic(house, 'hang_at=1', { name: 'Cut' });
  const { id, stream } = await begin(house, assistant.id, { headers: { traceparent } });
  await stream.next();
  await stream.next();
  await house.kill('SIGKILL');
  stream.leave();
  const next = await openHouse(t, { folder: house.folder, env: { ...collector.env, ...store } });
  await until(async () => {
    const { json } = await next.ask(`/sessions/${id}`, { key: house.key });
    return json?.active_turn_id === null;
  });
  const seal = await until(() =>
    collector.spans.find(({ name, traceId }) => name === 'finish' && traceId === given.trace),
  );
  t.notOk(
    collector.spans.some(({ name }) => name.startsWith('invoke_agent')),
    'its own span has died with it',
  );
  t.ok(seal.parentId !== '' && seal.parentId !== given.span, 'the parent is the span of the turn');
  t.match(seal.attributes, { 'db.operation.name': 'finish', 'db.system.name': leased ? 'redis' : 'lmdb' });
  const again = await next.stream(`/sessions/${id}/turns/${stream.turnId}/events`, { key: house.key });
  await again.rest();
  const resumed = await until(() =>
    collector.spans.find(({ attributes }) => attributes['parley.request_id'] === again.headers.get('x-request-id')),
  );
  t.same(resumed.links, [seal.parentId]);
});

t.test('each attempt at an event of a turn is a client span below the turn, and goes out as the parent', async (t) => {
  const { collector, house } = await openScene(t);
  const receiver = await openReceiver(t);
  receiver.answer = () => (receiver.received.length === 0 ? 500 : 204);
  const path = `/workspaces/${house.workspaceId}/webhooks`;
  const events = ['turn.completed', 'session.ended'];
  const { json: webhook } = await house.console(path, { body: { url: receiver.url, events } });
  const assistant = await synthetic(house, 'tokens=2', { name: 'Support' });
  const { id, stream } = await begin(house, assistant.id, { headers: { traceparent } });
  await stream.rest();
  const deliveries = async (): Promise<any[]> => (await house.console(`${path}/${webhook.id}/deliveries`)).json.data;
  const [first] = await until(async () => {
    const list = await deliveries();
    return list[0]?.attempts === 1 && list;
  });
  await house.console(`${path}/${webhook.id}/deliveries/${first.id}/retry`, { method: 'POST' });
  await receiver.until((received) => received.length === 2);
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  await receiver.until((received) => received.length === 3);
  const attempts = await until(() => {
    const spans = collector.spans.filter(({ name }) => name === 'delivery');
    return spans.length === 3 && spans.toSorted((one, other) => Number(one.start - other.start));
  });
  const turn = collector.spans.find(({ name }) => name === 'invoke_agent Support')!;
  t.equal(turn.traceId, given.trace);
  for (const [index, span] of attempts.slice(0, 2).entries()) {
    t.match(span, {
      traceId: given.trace,
      parentId: turn.spanId,
      kind: 'client',
      links: [],
      events: 0,
      statusText: '',
    });
    t.equal(span.failed, index === 0);
    t.same(span.attributes, {
      'http.request.method': 'POST',
      'server.address': '127.0.0.1',
      'parley.delivery_id': first.id,
      'parley.event_type': 'turn.completed',
      'parley.attempt': index + 1,
      'http.response.status_code': index === 0 ? 500 : 204,
      ...(index === 0 && { 'error.type': 'refused' }),
    });
  }
  const [, , ended] = attempts;
  t.match(ended, { parentId: '', failed: false, attributes: { 'parley.event_type': 'session.ended' } });
  t.not(ended!.traceId, given.trace, 'the event of a session has its own trace');
  t.same(
    receiver.received.map(({ headers }) => headers['traceparent']),
    attempts.map(({ traceId, spanId }) => `00-${traceId}-${spanId}-01`),
  );
});

t.test(
  'the attempt of the next process at an event is below the turn of the dead process',
  { skip: leased && 'the lease of a dead process on a delivery lasts 25 s' },
  async (t) => {
    const store = { PARLEY_STORE: 'lmdb:./data' };
    const { collector, house } = await openScene(t, store);
    const receiver = await openReceiver(t);
    receiver.answer = () => (receiver.received.length === 0 ? null : 204);
    const body = { url: receiver.url, events: ['turn.completed'] };
    await house.console(`/workspaces/${house.workspaceId}/webhooks`, { body });
    const assistant = await synthetic(house, 'tokens=2', { name: 'Support' });
    await (await begin(house, assistant.id)).stream.rest();
    const spans = await collector.traceWith('invoke_agent Support');
    await receiver.until((received) => received.length === 1);
    await house.kill('SIGKILL');
    const env = { ...collector.env, PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', ...store };
    await openHouse(t, { folder: house.folder, env });
    await receiver.until((received) => received.length === 2);
    const span = await until(() => collector.spans.find(({ name }) => name === 'delivery'));
    const turn = spans.find(({ name }) => name === 'invoke_agent Support')!;
    t.match(span, { traceId: turn.traceId, parentId: turn.spanId, attributes: { 'parley.attempt': 1 } });
  },
);
