/** Assistants that use the tools of MCP servers (contract 13), in both eras of the protocol. */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { openWorkspace, type House } from './house.ts';
import { listed, openServer, schema, type Answers } from './mcp-server.ts';

const toolsPath = (house: House): string => `/workspaces/${house.workspaceId}/tools`;

/** A tool whose functions are all on. */
async function refreshedTool(house: House, url: string, fields: object = {}): Promise<any> {
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url, ...fields } });
  if (made.status !== 201) throw new Error(JSON.stringify(made.json));
  const { status, json } = await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' });
  if (status !== 200) throw new Error(JSON.stringify(json));
  const functions = json.functions.map(({ name }: { name: string }) => ({ name, enabled: true }));
  const patched = await house.console(`${toolsPath(house)}/${made.json.id}`, { method: 'PATCH', body: { functions } });
  if (patched.status !== 200) throw new Error(JSON.stringify(patched.json));
  return { ...json, ...patched.json, changes: json.changes };
}

/** The one call of a turn with the tool. */
async function callOf(house: House, toolId: string, name = 'look_up'): Promise<any> {
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: `call=${name},tokens=1` },
    tool_ids: [toolId],
  });
  const session = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${session.id}/chat`, {
    key: house.key,
    body: { message: 'Where is it?' },
  });
  await stream.rest();
  const { json } = await house.console(`/workspaces/${house.workspaceId}/sessions/${session.id}/transcript`);
  const [call] = json.data.at(-1).tool_calls;
  return { ...call, sessionId: session.id };
}

for (const era of ['modern', 'legacy'] as const) {
  t.test(`a server of the ${era} era is listed and called`, async (t) => {
    const house = await openWorkspace();
    const server = await openServer(t, era, {});
    const tool = await refreshedTool(house, server.url);
    t.match(tool, {
      functions: [{ name: 'look_up', description: 'Looks an order up.', parameters: schema, enabled: true }],
      refreshed_at: Number,
      changes: [{ name: 'look_up', change: 'added' }],
    });
    const before = server.got.length;
    const call = await callOf(house, tool.id);
    t.match(call, { status: 'completed', error: null, output: 'shipped' });
    const sent = server.got.slice(before);
    t.same(
      sent.map(({ method }) => method),
      ['tools/call'],
      'no list is fetched in a turn, and the session is kept',
    );
    const { params } = sent.at(-1)!;
    t.match(params, {
      name: 'look_up',
      arguments: { order: 'word' },
      _meta: { 'parley/call_id': call.id, 'parley/session_id': call.sessionId, 'parley/visitor': {} },
    });
  });

  t.test(`what a server of the ${era} era answers`, async (t) => {
    const house = await openWorkspace();
    let answer: unknown;
    const server = await openServer(t, era, {
      call: (_, response) => {
        if (typeof answer !== 'function') return answer;
        answer(response);
        return 'given';
      },
    });
    const tool = await refreshedTool(house, server.url);
    const text = (words: string) => ({ type: 'text', text: words });
    const rows: [string, unknown, object][] = [
      [
        'texts',
        { content: [text('one'), { type: 'image', data: 'AA==', mimeType: 'image/png' }, text('two')] },
        { status: 'completed', output: 'one\n[image]\ntwo' },
      ],
      [
        'other parts',
        {
          content: [
            { type: 'audio', data: 'AA==', mimeType: 'audio/wav' },
            { type: 'resource', resource: { uri: 'a:b', text: 'c' } },
          ],
        },
        { status: 'completed', output: '[audio]\nc' },
      ],
      [
        'parts that are not known',
        {
          content: [
            { type: 'audio', data: 'AA==' },
            { type: 'resource', resource: { uri: 'a:b', blob: 'AA==' } },
            { type: 'resource_link', uri: 'a:b' },
            { type: 'chart' },
          ],
        },
        { status: 'completed', output: '[audio]\n[resource]\n[resource]' },
      ],
      [
        'a structure',
        { content: [], structuredContent: { shipped: true } },
        { status: 'completed', output: '{"shipped":true}' },
      ],
      [
        'an error of the tool',
        { content: [text('no')], isError: true },
        { status: 'failed', error: 'refused', output: null },
      ],
      [
        'an error of JSON-RPC',
        { code: -32602, message: 'secret' },
        { status: 'failed', error: 'refused', output: null },
      ],
      ['a status', (response: ServerResponse) => response.writeHead(403).end(), { status: 'failed', error: 'refused' }],
      [
        'a broken body',
        (response: ServerResponse) => response.writeHead(200, { 'content-type': 'application/json' }).end('{'),
        { status: 'failed', error: 'malformed' },
      ],
      [
        'too much',
        (response: ServerResponse) =>
          response.writeHead(200, { 'content-type': 'application/json' }).end('x'.repeat(1024 * 1024 + 1)),
        { status: 'failed', error: 'too_large' },
      ],
      [
        'a stream that ends before an answer',
        (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': no\n\n'),
        { status: 'failed', error: 'unreachable' },
      ],
      [
        'a connection that is cut',
        (response: ServerResponse) => response.destroy(),
        { status: 'failed', error: 'unreachable' },
      ],
    ];
    if (era === 'modern')
      rows.push([
        'input that it wants',
        {
          resultType: 'input_required',
          inputRequests: {
            one: {
              method: 'elicitation/create',
              params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
            },
          },
        },
        { status: 'failed', error: 'refused' },
      ]);
    for (const [name, given, wanted] of rows) {
      answer = given;
      t.match(await callOf(house, tool.id), wanted, name);
    }
  });
}

t.test('a call ends with its time, and its connection with it', async (t) => {
  const house = await openWorkspace();
  let closed: Promise<void> | undefined;
  const server = await openServer(t, 'modern', {
    call: (_, response) => {
      closed = new Promise((resolve) => response.on('close', () => resolve()));
      return 'given';
    },
  });
  const tool = await refreshedTool(house, server.url, { timeout_seconds: 1 });
  t.match(await callOf(house, tool.id), { status: 'failed', error: 'timeout' });
  await closed;
});

t.test('a refresh tells what is new, changed, gone and refused', async (t) => {
  const house = await openWorkspace();
  const answers: Answers = { tools: [listed('look.up'), listed('stays'), listed('goes')] };
  const server = await openServer(t, 'modern', answers);
  const tool = await refreshedTool(house, server.url);
  t.same(
    tool.functions.map(({ name }: { name: string }) => name),
    ['look_up', 'stays', 'goes'],
  );
  const called = await callOf(house, tool.id);
  t.equal(called.status, 'completed');
  t.equal(server.got.at(-1)!.params.name, 'look.up', 'the server is asked by its own name');
  answers.tools = [
    { ...listed('look.up'), description: 'Other.' },
    listed('stays'),
    listed('look_up'),
    listed('odd', { type: 'object', properties: { a: { $ref: 'https://example.com/a' } } }),
  ];
  const { json } = await house.console(`${toolsPath(house)}/${tool.id}/refresh`, { method: 'POST' });
  t.same(json.changes, [
    { name: 'look_up', change: 'changed' },
    { name: 'look_up', change: 'refused' },
    { name: 'odd', change: 'refused' },
    { name: 'goes', change: 'removed' },
  ]);
  t.same(
    json.functions.map(({ name, enabled }: { name: string; enabled: boolean }) => [name, enabled]),
    [
      ['look_up', false],
      ['stays', true],
    ],
  );
});

for (const era of ['modern', 'legacy'] as const)
  t.test(`a schema that the protocol does not allow takes no other function with it, ${era}`, async (t) => {
    const house = await openWorkspace();
    const server = await openServer(t, era, {
      tools: [
        listed('look_up'),
        listed('text', { type: 'string' }),
        { name: 'bare' },
        listed('untyped', { properties: {} }),
      ],
    });
    const tool = await refreshedTool(house, server.url);
    t.same(tool.changes, [
      { name: 'look_up', change: 'added' },
      { name: 'text', change: 'refused' },
      { name: 'bare', change: 'refused' },
      { name: 'untyped', change: 'added' },
    ]);
    t.same(
      tool.functions.map(({ name }: { name: string }) => name),
      ['look_up', 'untyped'],
    );
  });

t.test('a server that is away is 503', async (t) => {
  const house = await openWorkspace();
  const made = await house.console(toolsPath(house), {
    body: { kind: 'mcp', name: 'Away', url: 'http://127.0.0.1:1/mcp' },
  });
  const { status, json } = await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' });
  t.match([status, json.error.code], [503, 'api_error']);
});

t.test('a function that the server renamed is another draft, and a version calls it as it was named', async (t) => {
  const house = await openWorkspace();
  const answers: Answers = { tools: [listed('look.up')] };
  const server = await openServer(t, 'modern', answers);
  const tool = await refreshedTool(house, server.url);
  const model = { provider: 'synthetic', name: 'call=look_up,tokens=1' };
  const { id } = await house.assistant({ model, tool_ids: [tool.id] });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const called = async (sessionId: string): Promise<string> => {
    await (await house.stream(`/sessions/${sessionId}/chat`, { key: house.key, body: { message: 'Hello' } })).rest();
    return server.got.findLast(({ method }) => method === 'tools/call')!.params.name;
  };
  const { id: before } = await house.session(id);
  t.equal(await called(before), 'look.up');
  answers.tools = [listed('look/up')];
  const renamed = await house.console(`${toolsPath(house)}/${tool.id}/refresh`, { method: 'POST' });
  t.match(renamed.json, { changes: [{ name: 'look_up', change: 'changed' }], functions: [{ enabled: false }] });
  const functions = [{ name: 'look_up', enabled: true }];
  await house.console(`${toolsPath(house)}/${tool.id}`, { method: 'PATCH', body: { functions } });
  t.equal((await house.console(path)).json.draft.changed, true);
  const { json } = await house.console(`${path}/publish`, { method: 'POST' });
  t.equal(json.version, 2);
  t.match((await house.console(`${path}/versions/2`)).json.config.tools, [{ functions: [{ remote_name: 'look/up' }] }]);
  t.match((await house.console(`${path}/versions/2/changes`)).json.data, [
    { before: [{ remote_name: 'look.up' }], after: [{ remote_name: 'look/up' }] },
  ]);
  t.same([await called((await house.session(id)).id), await called(before)], ['look/up', 'look.up']);
});
