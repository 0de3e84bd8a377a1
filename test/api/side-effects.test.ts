/**
 * A tool that acts and then fails to answer: its model learns that the outcome is unknown, and does not call it again
 * (contract 13).
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';
import { patient } from '../run/speed.mjs';
import { openWorkspace, type House } from './house.ts';
import { onProvider } from './talk.ts';

/** Seconds that a call may take to reach its tool on this machine. */
const silenceSeconds = Math.ceil(patient(1000) / 1000);

/** The answer to a call that was carried out. */
type Answer = (response: ServerResponse, id: unknown) => void;

/** A server that carries out each call that reaches it, as an HTTP tool and as an MCP server. */
async function openTool(t: Test) {
  const tool = { acted: 0, url: '', answer: ((response) => void response.end()) as Answer };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const { id, method } = text === '' ? { id: null, method: 'tools/call' } : JSON.parse(text);
      const result = {
        initialize: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'acts', version: '1' },
        },
        'tools/list': { tools: [{ name: 'act', inputSchema: { type: 'object' } }] },
      }[method as string];
      if (result !== undefined)
        return response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
      if (method?.startsWith('notifications/') === true) return response.writeHead(202).end();
      if (method === 'server/discover') return response.writeHead(404).end();
      tool.acted++;
      return tool.answer(response, id);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  tool.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return tool;
}

/**
 * An assistant whose model calls again until it gets an outcome or learns that the outcome is unknown. Resolves with
 * the results that its model got.
 */
async function toldBy(t: Test, house: House, toolId: string): Promise<string[]> {
  const told: string[] = [];
  const { assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      const { role, content } = body.messages.at(-1);
      if (role === 'tool') told.push(content);
      const isDone = role === 'tool' && (told.length === 4 || /not known|paid/.test(content));
      response.writeHead(200, eventStream);
      const call = data({
        choices: [
          { delta: { tool_calls: [{ index: 0, id: `c${told.length}`, function: { name: 'act', arguments: '{}' } }] } },
        ],
      });
      response.end((isDone ? delta('done') : call) + delta('', isDone ? 'stop' : 'tool_calls') + done);
    },
    { tool_ids: [toolId] },
  );
  const { id } = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${id}/chat`, { key: house.key, body: { message: 'Pay.' } });
  const last = (await stream.rest()).at(-1);
  if (last?.event !== 'turn.completed') throw new Error(JSON.stringify(last));
  return told;
}

async function newTool(house: House, kind: 'http' | 'mcp', url: string, fields: object): Promise<string> {
  const path = `/workspaces/${house.workspaceId}/tools`;
  const made = await house.console(path, {
    body: { kind, name: 'Acts', url, ...(kind === 'http' && { functions: [{ name: 'act' }] }), ...fields },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.json));
  if (kind === 'mcp') {
    const { status, json } = await house.console(`${path}/${made.json.id}/refresh`, { method: 'POST' });
    if (status !== 200) throw new Error(JSON.stringify(json));
    await house.console(`${path}/${made.json.id}`, {
      method: 'PATCH',
      body: { functions: [{ name: 'act', enabled: true }] },
    });
  }
  return made.json.id;
}

const json = { 'content-type': 'application/json' };
const half = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"te';

const rows: Readonly<Record<string, Answer>> = {
  'closes the connection': (response) => void response.destroy(),
  'closes the connection after the head': (response) => {
    response.writeHead(200, { ...json, 'content-length': '500' }).flushHeaders();
    response.destroy();
  },
  'sends half an answer and closes the connection': (response) => {
    response.writeHead(200, { ...json, 'content-length': '500' });
    response.write(half, () => response.destroy());
  },
  'sends half an answer as a whole': (response) => void response.writeHead(200, json).end(half),
  'sends half an event stream': (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`data: ${half}`),
  'sends half of the chunks': (response) => {
    response.writeHead(200, json);
    response.write(half, () => setImmediate(() => response.destroy()));
  },
  'answers nothing': (response) => void response.writeHead(200, json).end(),
  'answers in HTML': (response) => void response.writeHead(200, { 'content-type': 'application/pdf' }).end('<p>Paid.'),
  'answers in a coding': (response) => void response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end('x'),
  'answers no HTTP': (response) => void response.socket!.end('SSH-2.0-x\r\n\r\n'),
  'answers too much': (response) => void response.writeHead(200, json).end(`"${'x'.repeat(1024 * 1024 + 1)}"`),
  'never answers': () => {},
  'never answers after the head': (response) => response.writeHead(200, json).flushHeaders(),
  ...Object.fromEntries(
    [301, 302, 303, 307, 308].map((status): [string, Answer] => [
      `answers ${status}`,
      (response) => void response.writeHead(status, { location: '/mcp/' }).end(),
    ]),
  ),
  ...Object.fromEntries(
    [408, 500, 502, 503, 504, 520, 524].map((status): [string, Answer] => [
      `answers ${status}`,
      (response) => void response.writeHead(status, json).end('{"error":"no"}'),
    ]),
  ),
};

/** Failures that MCP alone has. */
const mcpRows: Readonly<Record<string, Answer>> = {
  'answers with an error of JSON-RPC': (response, id) =>
    answerWith(response, { id, error: { code: -32603, message: 'broken' } }),
  'answers with an error of JSON-RPC without an id': (response) =>
    answerWith(response, { id: null, error: { code: -32700, message: 'broken' } }),
  'answers another request': (response) => answerWith(response, { id: 'other', result: { content: [] } }),
  'accepts the call and answers nothing': (response) => void response.writeHead(202).end(),
  'answers with no result': (response, id) => answerWith(response, { id, result: null }),
  'answers with a text as its result': (response, id) => answerWith(response, { id, result: 'ok' }),
  'fails without a text': (response, id) => answerWith(response, { id, result: { content: [], isError: true } }),
  'wants input': (response, id) =>
    answerWith(response, { id, result: { resultType: 'input_required', inputRequests: {} } }),
  'ends its stream after a notification': (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n'),
};

const answerWith = (response: ServerResponse, message: object): void =>
  void response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', ...message }));

for (const kind of ['http', 'mcp'] as const)
  t.test(`a call to an ${kind} tool that acts once is not made again`, async (t) => {
    const house = await openWorkspace();
    for (const [name, answer] of Object.entries(kind === 'mcp' ? { ...rows, ...mcpRows } : rows)) {
      // To an HTTP tool any text is an output.
      if (kind === 'http' && name === 'sends half an event stream') continue;
      const tool = await openTool(t);
      tool.answer = answer;
      const id = await newTool(house, kind, tool.url, {
        timeout_seconds: name.startsWith('never') ? silenceSeconds : 20,
      });
      const told = await toldBy(t, house, id);
      t.same([tool.acted, told.length], [1, 1], `${kind} ${name}: ${told[0]}`);
      t.match(told[0], /Whether it has acted is not known\./, name);
    }
  });

t.test('a refused call and an unreachable tool are told as such: nothing was done', async (t) => {
  const house = await openWorkspace();
  for (const kind of ['http', 'mcp'] as const) {
    for (const status of [400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 451]) {
      const tool = await openTool(t);
      tool.answer = (response) => void response.writeHead(status).end();
      t.equal(
        (await toldBy(t, house, await newTool(house, kind, tool.url, {})))[0],
        'The tool refused the call. It has not acted.',
        `${kind} ${status}`,
      );
    }
  }
  // No server listens there. A port that a server has left may be another test's.
  t.equal(
    (await toldBy(t, house, await newTool(house, 'http', 'http://127.0.0.1:1/', {})))[0],
    'The tool cannot be reached. It has not acted.',
  );
});

t.test('a repeatable call that may have reached the tool once stays one whose outcome is not known', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  tool.answer = (response) => void response.writeHead(tool.acted === 1 ? 502 : 404).end();
  t.match(await toldBy(t, house, await newTool(house, 'http', tool.url, { repeatable: true })), [
    /^The tool answered with an error\. Whether it has acted is not known\.$/,
  ]);
  t.equal(tool.acted, 2);
});

const part = { type: 'text', text: 'paid' };

/** Successful results that real servers send, beside what the protocol has, and the output of each. */
const oddResults: Readonly<Record<string, readonly [result: object, output?: string]>> = {
  'null _meta': [{ content: [part], _meta: null }],
  'null isError': [{ content: [part], isError: null }],
  'a text as isError': [{ content: [part], isError: 'false' }],
  'null structuredContent': [{ content: [part], structuredContent: null }],
  'a list as structuredContent': [{ content: [part], structuredContent: [1] }],
  'null annotations': [{ content: [{ ...part, annotations: null }] }],
  'annotations of another form': [
    { content: [{ ...part, annotations: { audience: 'user', priority: 'high', lastModified: 5 } }] },
  ],
  'null _meta of a part': [{ content: [{ ...part, _meta: null }] }],
  'an unknown part': [{ content: [part, { type: 'chart', data: [1] }] }],
  'a part without a type': [{ content: [part, {}, null, 5] }],
  'an image without data': [{ content: [part, { type: 'image', data: null, mimeType: 5 }] }, 'paid\n[image]'],
  'a sound of another form': [{ content: [part, { type: 'audio', url: 'a:b' }] }, 'paid\n[audio]'],
  'a link without a name': [{ content: [part, { type: 'resource_link', uri: 'file:///a' }] }, 'paid\n[resource]'],
  'a link without an address': [
    { content: [part, { type: 'resource_link', name: 'a', size: null }] },
    'paid\n[resource]',
  ],
  'an embedded text': [
    { content: [{ type: 'resource', resource: { uri: 'file:///a', mimeType: null, text: 'paid' } }] },
  ],
  'an embedded text without an address': [{ content: [{ type: 'resource', resource: { text: 'paid' } }] }],
  'an embedded file': [
    { content: [part, { type: 'resource', resource: { uri: null, blob: 'AA==' } }] },
    'paid\n[resource]',
  ],
  'null as an embedded resource': [{ content: [part, { type: 'resource', resource: null }] }, 'paid\n[resource]'],
  'a text that is none': [
    { content: [part, { type: 'text', text: null }, { type: 'text' }, { type: 'text', text: 5 }] },
  ],
  'null content and a structure': [{ content: null, structuredContent: { state: 'paid' } }, '{"state":"paid"}'],
  'a structure without content': [{ structuredContent: { state: 'paid' } }, '{"state":"paid"}'],
  'a text as content': [{ content: 'paid' }],
  'a part as content': [{ content: part }],
  'fields of its own': [{ content: [{ ...part, id: 1 }], usage: { ms: 3 }, resultType: 'complete', ttlMs: 'long' }],
  nothing: [{}, ''],
};

t.test('a call whose result is odd is completed, and made once', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const id = await newTool(house, 'mcp', tool.url, { show: 'full' });
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: 'call=act,tokens=1' },
    tool_ids: [id],
  });
  for (const [name, [result, output = 'paid']] of Object.entries(oddResults)) {
    for (const type of ['application/json', 'text/event-stream']) {
      tool.acted = 0;
      const text = (callId: unknown): string => JSON.stringify({ jsonrpc: '2.0', id: callId, result });
      tool.answer = (response, callId) =>
        void response
          .writeHead(200, { 'content-type': type })
          .end(type === 'application/json' ? text(callId) : `event: message\ndata: ${text(callId)}\n\n`);
      const session = await house.session(assistant.id);
      const stream = await house.stream(`/sessions/${session.id}/chat`, { key: house.key, body: { message: 'Pay.' } });
      const ended = (await stream.rest()).find(({ event }) => event === 'tool.ended')!.data;
      t.match(ended, { status: 'completed', error: null, output }, `${name}, ${type}`);
      t.equal(ended.output, output);
      t.equal(tool.acted, 1);
    }
  }
});

t.test('the text of a failed MCP tool reaches its model, and nobody else', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const id = await newTool(house, 'mcp', tool.url, { show: 'full' });
  const said = `The account is unknown, not paid. ${'😀'.repeat(3000)}`;
  tool.answer = (response, callId) =>
    answerWith(response, {
      id: callId,
      result: {
        content: [
          { type: 'text', text: said },
          { type: 'image', data: 'AA==' },
        ],
        isError: true,
        _meta: null,
      },
    });
  const told = await toldBy(t, house, id);
  t.equal(told[0], [...said].slice(0, 2000).join(''));
  const sessions = (await house.ask('/sessions', { key: house.key })).json.data;
  const { json: transcript } = await house.ask(`/sessions/${sessions[0].id}/transcript`, { key: house.key });
  t.match(transcript.data.at(-1).tool_calls, [{ status: 'failed', error: 'refused', output: null }]);
  const { json: tested } = await house.console(`/workspaces/${house.workspaceId}/tools/${id}/test`, {
    body: { name: 'act' },
  });
  t.match(tested, { status: 'failed', error: 'refused', reason: null, output: null });
  t.notMatch(JSON.stringify([transcript, tested]), /account is unknown/);
});

t.test('an answer without content is an empty output, whatever type it names', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const id = await newTool(house, 'http', tool.url, { show: 'full' });
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: 'call=act,tokens=1' },
    tool_ids: [id],
  });
  for (const [status, headers] of [
    [204, {}],
    [204, json],
    [204, { 'content-type': 'text/html' }],
    [205, json],
    [200, {}],
    [200, { 'content-type': 'text/plain' }],
  ] as const) {
    tool.answer = (response) => void response.writeHead(status, headers).end();
    const session = await house.session(assistant.id);
    const stream = await house.stream(`/sessions/${session.id}/chat`, { key: house.key, body: { message: 'Go' } });
    const ended = (await stream.rest()).find(({ event }) => event === 'tool.ended')!.data;
    t.match(ended, { status: 'completed', error: null, output: '' }, `${status} ${JSON.stringify(headers)}`);
    t.equal(
      (await house.ask(`/sessions/${session.id}/transcript`, { key: house.key })).json.data.at(-1).tool_calls[0].output,
      '',
    );
    const { json: tested } = await house.console(`/workspaces/${house.workspaceId}/tools/${id}/test`, {
      body: { name: 'act' },
    });
    t.match(tested, { status: 'completed', output: '' });
  }
});
