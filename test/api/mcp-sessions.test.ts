/**
 * Sessions with MCP servers: one for each server and credential, renewed where the server has lost it, and ended
 * (contract 13).
 */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { openHouse, openWorkspace, type House } from './house.ts';
import { openServer, type Answers } from './mcp-server.ts';

const toolsPath = (house: House): string => `/workspaces/${house.workspaceId}/tools`;

async function refreshedTool(house: House, url: string, fields: object = {}): Promise<string> {
  const made = await house.console(toolsPath(house), { body: { kind: 'mcp', name: 'Orders', url, ...fields } });
  const { status, json } = await house.console(`${toolsPath(house)}/${made.json.id}/refresh`, { method: 'POST' });
  if (status !== 200) throw new Error(JSON.stringify(json));
  return made.json.id;
}

const call = async (house: House, toolId: string): Promise<any> =>
  (await house.console(`${toolsPath(house)}/${toolId}/test`, { body: { name: 'look_up', arguments: { order: '7' } } }))
    .json;

t.test('300 calls, ten at a time, take one session, which ends with the process', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  const server = await openServer(t, 'legacy', { sessionsMax: 1 });
  const id = await refreshedTool(house, server.url);
  for (let round = 0; round < 30; round++)
    for (const { status } of await Promise.all(Array.from({ length: 10 }, () => call(house, id))))
      t.equal(status, 'completed');
  t.equal(server.got.filter(({ method }) => method === 'tools/call').length, 300);
  t.same([server.sessions.made, server.sessions.open.size], [1, 1]);
  await house.stop();
  t.same([server.sessions.open.size, server.got.at(-1)!.method], [0, 'DELETE']);
});

t.test('calls at once on a server that was never entered open one session', async (t) => {
  const house = await openWorkspace();
  const server = await openServer(t, 'legacy', {});
  const id = await refreshedTool(house, server.url);
  // Another credential is another session.
  const credential = await house.console(`/workspaces/${house.workspaceId}/credentials`, {
    body: { kind: 'tool', base_url: new URL(server.url).origin, api_key: 'secret' },
  });
  await house.console(`${toolsPath(house)}/${id}`, { method: 'PATCH', body: { credential_id: credential.json.id } });
  for (const { status } of await Promise.all(Array.from({ length: 12 }, () => call(house, id))))
    t.equal(status, 'completed');
  t.equal(server.sessions.made, 2);
  t.equal(
    server.got.filter(({ method, headers }) => method === 'initialize' && headers.authorization === 'Bearer secret')
      .length,
    1,
  );
});

const lost: Readonly<Record<string, (response: ServerResponse) => void>> = {
  // "Session Management": the server MUST respond with 404 in a session that has ended.
  '404': (response) => void response.writeHead(404).end(),
  '404 with an error of JSON-RPC': (response) =>
    void response
      .writeHead(404, { 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":null}'),
  // The examples of the official SDKs, and so most servers (server-everything 2026.8.31,
  // dist/transports/streamableHttp.js).
  '400 that names the session': (response) =>
    void response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}'),
};

for (const [name, refuse] of Object.entries(lost))
  t.test(`a session that the server has lost is renewed, and the call is carried out once: ${name}`, async (t) => {
    const house = await openWorkspace();
    let acted = 0;
    const answers: Answers = { call: () => (acted++, { content: [{ type: 'text', text: 'shipped' }] }) };
    const server = await openServer(t, 'legacy', answers);
    const id = await refreshedTool(house, server.url);
    answers.oddly = (method, response, _, { headers }) => {
      const isLost = method === 'tools/call' && !server.sessions.open.has(String(headers['mcp-session-id']));
      if (isLost) refuse(response);
      return isLost;
    };
    for (let restart = 1; restart <= 3; restart++) {
      server.sessions.open.clear();
      t.match(await call(house, id), { status: 'completed', output: 'shipped' });
      t.same([acted, server.sessions.made, server.sessions.open.size], [restart, restart + 1, 1]);
    }
  });

t.test('a server that does not know the session that it has just given is asked twice, and not for ever', async (t) => {
  const house = await openWorkspace();
  const answers: Answers = {};
  const server = await openServer(t, 'legacy', answers);
  const id = await refreshedTool(house, server.url);
  answers.oddly = (method, response) => {
    if (method === 'tools/call') response.writeHead(404).end();
    return method === 'tools/call';
  };
  t.match(await call(house, id), { status: 'failed', error: 'refused' });
  t.equal(server.got.filter(({ method }) => method === 'tools/call').length, 2);
  answers.oddly = () => undefined;
  t.match(await call(house, id), { status: 'completed' });
});

t.test('a session in which a call failed is ended, and the next call has another', async (t) => {
  const house = await openWorkspace();
  const answers: Answers = {};
  const server = await openServer(t, 'legacy', answers);
  const id = await refreshedTool(house, server.url);
  for (const fail of [
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.writeHead(500).end(),
    (response: ServerResponse) => response.writeHead(200).end('<p>'),
  ]) {
    answers.call = (_, response) => (fail(response), 'given');
    const made = server.sessions.made;
    t.match(await call(house, id), { status: 'failed' });
    answers.call = () => ({ content: [] });
    t.match(await call(house, id), { status: 'completed' });
    t.equal(server.sessions.made, made + 1);
  }
  for (const answer of [
    { content: [], isError: true },
    { code: -32602, message: 'no' },
  ]) {
    answers.call = () => answer;
    const made = server.sessions.made;
    t.match(await call(house, id), { status: 'failed', error: 'refused' });
    t.equal(server.sessions.made, made, 'an answer is none');
  }
});

t.test('an aborted call is cancelled at the server, and its session goes on', async (t) => {
  const house = await openWorkspace();
  let begun = (): void => {};
  const began = new Promise<void>((resolve) => (begun = resolve));
  const answers: Answers = { call: () => (begun(), 'given') };
  const server = await openServer(t, 'legacy', answers);
  const id = await refreshedTool(house, server.url);
  await house.console(`${toolsPath(house)}/${id}`, {
    method: 'PATCH',
    body: { functions: [{ name: 'look_up', enabled: true }] },
  });
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: 'call=look_up,tokens=1' },
    tool_ids: [id],
  });
  const session = await house.session(assistant.id);
  const cancelled = new Promise<any>((resolve) => {
    answers.oddly = (method, _, __, ___, params) => {
      if (method === 'notifications/cancelled') resolve(params);
      return undefined;
    };
  });
  const stream = await house.stream(`/sessions/${session.id}/chat`, {
    key: house.key,
    body: { message: 'Where is it?' },
  });
  await began;
  await house.ask(`/sessions/${session.id}/turns/${stream.turnId}/abort`, { key: house.key, method: 'POST' });
  await stream.rest();
  t.match(await cancelled, { requestId: Number });
  answers.call = () => ({ content: [] });
  t.match(await call(house, id), { status: 'completed' });
  t.equal(server.sessions.made, 1, server.got.map(({ method }) => method).join());
});

t.test('a request of the server within a call is answered: a ping, and nothing else', async (t) => {
  const house = await openWorkspace();
  const replies: unknown[] = [];
  let replied = (): void => {};
  const answers: Answers = {
    call: (_, response, id) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [askId, method] of [
        ['a', 'ping'],
        ['b', 'roots/list'],
      ])
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: askId, method })}\n\n`);
      const wait = new Promise<void>((resolve) => (replied = resolve));
      void wait.then(() =>
        response.end(
          `data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'shipped' }] } })}\n\n`,
        ),
      );
      return 'given';
    },
  };
  const server = await openServer(t, 'legacy', answers);
  const id = await refreshedTool(house, server.url);
  answers.oddly = (method, _, askedId) => {
    if (method !== undefined) return undefined;
    replies.push(askedId);
    if (replies.length === 2) replied();
    return undefined;
  };
  t.match(await call(house, id), { status: 'completed', output: 'shipped' });
  t.same(new Set(replies), new Set(['a', 'b']));
});

t.test('each workspace has its own sessions', async (t) => {
  const server = await openServer(t, 'legacy', {});
  for (const house of [await openWorkspace(), await openWorkspace()]) await refreshedTool(house, server.url);
  t.equal(server.sessions.made, 2);
});
