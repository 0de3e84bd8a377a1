/**
 * No message, prompt, argument, output or key is in an exported span (contract 16, promise W2). The same conversation is
 * held with servers that leak on purpose, and each leak is found.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { openHouse, type House } from '../api/house.ts';
import { openServer } from '../api/mcp-server.ts';
import { data, done, eventStream } from '../providers/model/provider.ts';
import { onProvider, until } from '../api/talk.ts';
import { openCollector } from '../operations/tracing/collector.ts';
import { canary, canaryText, found } from './canaries.ts';
import { changedProgram, type Change } from './changed-program.ts';

const given = Object.fromEntries(
  [
    ...['message', 'prompt', 'reply', 'argument', 'output', 'tool error', 'mcp output', 'made-up name', 'approval'],
    ...['credential', 'idempotency key', 'metadata', 'visitor', 'provider error', 'query', 'header', 'path', 'method'],
    ...['tool path', 'function description', 'greeting', 'operator token', 'result', 'webhook path', 'webhook answer'],
  ].map((name) => [name, canaryText(`span ${name}`)]),
) as Readonly<Record<string, string>>;

/** The only canary that a span may have: it shows that the search would find the others. */
const agent = canary('name of the assistant');

interface Call {
  readonly name: string;
  readonly arguments: string;
}

function answer(response: ServerResponse, text: string, calls: readonly Call[] = []): void {
  const tool_calls = calls.map((call, index) => ({ index, id: `c${index}`, type: 'function', function: call }));
  response.writeHead(200, eventStream);
  response.write(data({ choices: [{ delta: { content: text, ...(calls.length > 0 && { tool_calls }) } }] }));
  response.write(data({ choices: [{ delta: {}, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }] }));
  response.end(done);
}

/** A tool that answers or fails in canaries. */
async function openTool(t: Test): Promise<string> {
  let asked = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const failing = asked++ % 2 === 1;
      const text = JSON.stringify({ text: failing ? given['tool error'] : given['output'] });
      response.writeHead(failing ? 500 : 200, { 'content-type': 'application/json', 'x-said': text }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/${given['tool path']}`;
}

async function newTool(house: House, body: object): Promise<string> {
  const { json, text, status } = await house.console(`/workspaces/${house.workspaceId}/tools`, { body });
  if (status !== 201) throw new Error(text);
  return json.id;
}

const schema = { type: 'object', properties: { order: { type: 'string' } } };
const described = { description: given['function description'], parameters: schema };

/** The tools of the assistant: over HTTP, with approval, of an MCP server, and of the client. */
async function toolsOf(t: Test, house: House): Promise<string[]> {
  const url = await openTool(t);
  const http = await newTool(house, {
    ...{ kind: 'http', name: 'Orders', url },
    functions: [
      { name: 'look_up', ...described },
      { name: 'approved', approval: 'always', ...described },
    ],
  });
  const client = await newTool(house, { kind: 'client', name: 'Here', functions: [{ name: 'here', ...described }] });
  const server = await openServer(t, 'legacy', {
    call: () => ({ content: [{ type: 'text', text: given['mcp output'] }] }),
  });
  const mcp = await newTool(house, { kind: 'mcp', name: 'Server', url: server.url });
  const path = `/workspaces/${house.workspaceId}/tools/${mcp}`;
  await house.console(`${path}/refresh`, { method: 'POST' });
  await house.console(path, { method: 'PATCH', body: { functions: [{ name: 'look_up', enabled: true }] } });
  return [http, client, mcp];
}

/** Opens a webhook whose receiver refuses in canaries; resolves with its secret. */
async function hooked(t: Test, house: House): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const text = given['webhook answer']!;
      response.writeHead(500, { 'content-type': 'application/json', 'retry-after': text }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/${given['webhook path']}`;
  const body = { url, events: ['turn.completed', 'turn.failed', 'session.ended'] };
  const { json, text, status } = await house.console(`/workspaces/${house.workspaceId}/webhooks`, { body });
  if (status !== 201) throw new Error(text);
  return json.secret;
}

/** Holds conversations in canaries, also failing ones; resolves with the bytes that the collector got. */
async function bytesOf(t: Test, command?: string): Promise<{ bytes: Buffer; keys: string[]; names: string[] }> {
  const collector = await openCollector(t);
  const house = await openHouse(t, {
    ...(command !== undefined && { command }),
    env: {
      ...collector.env,
      PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
      PARLEY_EDGE: 'node',
      PARLEY_OPERATOR_TOKEN: given['operator token']!,
    },
  });
  const call = (name: string): Call => ({ name, arguments: JSON.stringify({ order: given['argument'] }) });
  /** The calls of each request to the model, in order. */
  const rounds: (readonly Call[] | 'fail')[] = [
    ...[[call('look_up'), call('look_up'), call(given['made-up name']!)], []],
    ...[[{ name: 'look_up', arguments: given['argument']! }], []],
    ...[[call('here')], [call('approved')], []],
    'fail',
  ];
  const secret = await hooked(t, house);
  const tools = await toolsOf(t, house);
  const { assistant } = await onProvider(
    t,
    house,
    (response) => {
      const round = rounds.shift() ?? [];
      if (round === 'fail')
        response.writeHead(400).end(JSON.stringify({ error: { message: given['provider error'] } }));
      else answer(response, given['reply']!, round);
    },
    {
      name: agent.bytes.toString(),
      greeting: given['greeting'],
      tool_ids: tools.slice(0, 2),
      model: { system_prompt: given['prompt'] },
    },
  );
  const headers = { 'x-any': given['header']!, tracestate: `a=${given['header']}`, traceparent: given['header']! };
  const session = await house.session(assistant.id, {
    metadata: { a: given['metadata'] },
    visitor: { name: given['visitor'] },
  });
  const path = `/sessions/${session.id}/chat`;
  const chat = async (body: object, more: object = {}): Promise<any[]> => {
    const stream = await house.stream(`${path}?q=${given['query']}`, { body, headers: { ...headers, ...more } });
    return stream.rest();
  };

  const message = given['message']!;
  await chat({ message }, { 'idempotency-key': given['idempotency key'] });
  await chat({ message }, { 'idempotency-key': given['idempotency key'] });
  await chat({ message });
  const waiting = (await chat({ message })).at(-1).data.tool_calls;
  const approval = await chat({ tool_results: [{ call_id: waiting[0].call_id, output: given['result'] }] });
  await chat({ tool_results: [{ call_id: approval.at(-1).data.tool_calls[0].call_id, approved: true }] });
  await house.ask(path, { body: { message }, headers });
  const remote = await house.assistant({
    model: { provider: 'synthetic', name: 'call=look_up' },
    tool_ids: [tools[2]],
  });
  const other = await house.session(remote.id);
  await (await house.stream(`/sessions/${other.id}/chat`, { body: { message } })).rest();
  await house.ask('/v1/chat/completions', {
    body: { model: assistant.id, messages: [{ role: 'user', content: message }] },
    headers,
  });
  await house.ask(`/${given['path']}`, { headers });
  await house.ask(`/sessions/${given['path']}`, { key: null, headers });
  await house.ask('/assistants', { headers: { authorization: `Bearer ${given['header']}` }, key: null });
  await house.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  await until(() =>
    ['turn.completed', 'session.ended'].every((type) =>
      collector.spans.some(({ attributes }) => String(attributes['parley.event_type']).startsWith(type)),
    ),
  );
  await house.stop();
  return {
    bytes: Buffer.concat(collector.bodies),
    keys: [house.key, house.key.split('_').at(-1)!, secret, secret.replace('whsec_', '')],
    names: collector.spans.map(({ name }) => name),
  };
}

const canariesWith = (keys: readonly string[]) => [
  ...Object.entries(given).map(([name, text]) => canary(name, text)),
  ...keys.map((text, index) => canary(`key ${index}`, text)),
];

t.test('no exported byte has a message, a prompt, an argument, an output or a key [W2]', async (t) => {
  const { bytes, keys, names } = await bytesOf(t);
  t.same(found(bytes, canariesWith(keys)), []);
  t.same(found(bytes, [agent]), [agent.name], 'what spans do have is found');
  for (const part of [
    'POST /sessions/{id}/chat',
    'execute_tool look_up',
    'execute_tool approved',
    'execute_tool',
    'delivery',
  ])
    t.ok(names.includes(part), part);
});

/** Changes of the program that leak something. */
const leaks: Readonly<Record<string, Change>> = {
  message: [
    /assistantName: (\w+\.record\.name),\s+sessionId: (\w+)\.sessionId/,
    'assistantName: $1 + $2.text, sessionId: $2.sessionId',
  ],
  prompt: [/(kind: "round",\s+provider: \w+,\s+model: )(\w+),/, '$1$2 + systemPrompt,'],
  argument: [/kind: "tool", callId,/, 'kind: "tool", callId: JSON.stringify(arguments[0]),'],
  output: [/error: traceError\(result\)/, 'error: JSON.stringify(result)'],
  'made-up name': [/name: (\w+) && (\w+), isMcp/, 'name: $2, isMcp'],
  'webhook path': [/address: new URL\((\w+)\)\.hostname/, 'address: $1'],
  metadata: [/(kind: "delivery", deliveryId: \w+, event: \w+)/, '$1 + body'],
  'webhook answer': [/answeredStatus: (\w+)\.status/, 'answeredStatus: $1.retryAfter'],
  'key 0': [
    /(kind: "request", method: (\w+)\.method, route: [^{}]*), requestId \}/,
    '$1, requestId: $2.headers("authorization").join() }',
  ],
};

// The leak of arguments has names as well: each of the others shows alone, so one server has them.
const { argument, ...others } = leaks;
for (const together of [others, { argument: argument! }])
  t.test(`a server that leaks ${Object.keys(together).join(', ')} on purpose is found [W2]`, async (t) => {
    const command = await changedProgram(t, ...Object.values(together));
    const { bytes, keys } = await bytesOf(t, command);
    const names = found(bytes, canariesWith(keys));
    for (const name of Object.keys(together)) t.ok(names.includes(name), name);
  });
