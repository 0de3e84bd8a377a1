/**
 * T4: nothing of a tool reaches a client or a log: its address, its secrets, its credential, its errors, what it was
 * given and, unless it is shown, what it said.
 */
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket } from 'ws';
import { houseAt, type House } from '../api/house.ts';
import type { Owner } from '../folders.ts';
import { canary, canaryText, found, type Canary } from '../secrets/canaries.ts';
import { Relay } from '../secrets/relay.ts';
import type { Random } from '../simulate/random.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground } from './ground.ts';
import { told } from './tool-house.ts';

const given = {
  ...{
    path: canaryText('tool path'),
    name: canaryText('tool name'),
    apiKey: canaryText('tool credential'),
    header: canaryText('tool header'),
    description: canaryText('tool description'),
  },
  ...{
    said: canaryText('tool error'),
    reason: canaryText('tool reason'),
    output: canaryText('tool output'),
    argument: canaryText('tool argument'),
    asked: canaryText('tool approval'),
  },
};

/** Answer of a tool: bytes, or no answer. */
const answers: Readonly<Record<string, (response: ServerResponse, random: Random) => unknown>> = {
  refused: (response, random) =>
    response
      .writeHead(random.pick([400, 401, 403, 404, 409, 422, 429, 500, 502, 503]), given.reason, {
        'x-said': given.said,
        'www-authenticate': `Bearer realm="${given.said}"`,
        'content-type': 'application/json',
      })
      .end(JSON.stringify({ error: { message: given.said, code: -32000 } })),
  redirected: (response) => response.writeHead(302, { location: `http://127.0.0.1/${given.said}` }).end(given.said),
  malformed: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(`{"${given.said}`),
  page: (response) => response.writeHead(200, { 'content-type': `application/${given.said}` }).end(`<p>${given.said}`),
  large: (response) => response.writeHead(200, { 'content-type': 'text/plain' }).end(given.said.repeat(30_000)),
  cut: (response) => (
    response.writeHead(200, { 'content-type': 'text/plain' }),
    response.write(given.said),
    setImmediate(() => response.destroy())
  ),
  dropped: (response) => response.destroy(),
  silent: () => {},
  garbage: (response) => (response.socket?.write(`HTTP/9.9 ${given.said}\r\n\r\n`), response.destroy()),
  fine: (response) => response.writeHead(200, { 'content-type': 'text/plain', 'x-said': given.said }).end(given.output),
};

/** Answer of an MCP server to a tool call. */
const mcpAnswers: Readonly<Record<string, object>> = {
  failed: { error: { code: -32603, message: given.said, data: { stack: given.said } } },
  wrong: { result: { content: [{ type: 'text', text: given.said }], isError: true } },
  odd: { result: { [given.said]: given.said } },
  wanting: {
    result: {
      resultType: 'input_required',
      inputRequests: {
        one: {
          method: 'elicitation/create',
          params: { message: given.said, requestedSchema: { type: 'object', properties: {} } },
        },
      },
    },
  },
  told: { result: { resultType: 'complete', content: [{ type: 'text', text: given.output }] } },
};

interface Server {
  readonly origin: string;
  /** Whether it was sent its credential. */
  trusted: boolean;
  answer(response: ServerResponse, body: any): unknown;
}

async function open(t: Owner): Promise<Server> {
  const self: Server = { origin: '', trusted: false, answer: (response) => response.destroy() };
  const server = createServer((request, response) => {
    let text = '';
    self.trusted ||= request.headers[`x-${given.header}`] === given.apiKey;
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => self.answer(response, JSON.parse(text)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(self, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

interface Scene {
  readonly house: House;
  readonly http: Server;
  readonly mcp: Server;
  readonly assistants: Readonly<Record<string, string>>;
  readonly slugs: Readonly<Record<string, string>>;
  readonly canaries: readonly Canary[];
  /** The console's feed, with all that it has shown. */
  readonly socket: WebSocket;
  readonly shown: Buffer[];
}

const kinds = ['http', 'mcp', 'away', 'asking'] as const;

export const nothingLeaks: Experiment = {
  promise: 'T4',
  name: 'leak',
  does: 'tools that fail in every way, with canaries in all that is theirs: every byte of answers, logs, metrics and feed scanned',
  stores: ['lmdb'],
  abreast: { lmdb: 1, redis: 1 },
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const scene = await furnished(t, await ground.server({ PARLEY_LOG: 'trace' }));
    return async (trial) => {
      const relay = new Relay();
      const outside = await houseAt({ ...scene.house, url: await relay.stand(t, scene.house.url) });
      for (const kind of kinds) await converse(trial, scene, outside, kind);
      trial.must(scene.http.trusted && scene.mcp.trusted, 'a tool was not sent its credential');
      await scan(trial, scene, outside, relay);
    };
  },
};

async function furnished(t: Owner, house: House): Promise<Scene> {
  const [http, mcp] = [await open(t), await open(t)];
  const taking = (text: string): object => ({ type: 'object', properties: { a: { enum: [text] } }, required: ['a'] });
  const functions = (name: string) => [
    { name, description: given.description, parameters: taking(name === 'asking' ? given.asked : given.argument) },
  ];
  const credential = async (base: string): Promise<string> =>
    (
      await told(house, '/credentials', {
        kind: 'tool',
        base_url: base,
        api_key: given.apiKey,
        header: `x-${given.header}`,
      })
    ).id;
  const signing: string[] = [];
  const tool = async (name: string, fields: any): Promise<string> => {
    const made = await told(house, '/tools', {
      name: given.name,
      timeout_seconds: 1,
      credential_id: await credential(new URL(fields.url).origin),
      ...(fields.kind === 'http' && { functions: functions(name) }),
      ...fields,
    });
    if (made.signing_secret !== undefined) signing.push(made.signing_secret.slice('whsec_'.length));
    return made.id;
  };
  mcp.answer = (response, body) =>
    mcpAnswer(response, body, {
      result: {
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        tools: [{ name: 'mcp', description: given.description, inputSchema: taking(given.argument) }],
      },
    });
  const toolIds = {
    http: await tool('http', { kind: 'http', url: `${http.origin}/${given.path}` }),
    // The first read of a list loads the client of the protocol, which a busy machine does not do in a second.
    mcp: await tool('mcp', { kind: 'mcp', url: `${mcp.origin}/${given.path}`, timeout_seconds: 20 }),
    away: await tool('away', { kind: 'http', url: `http://127.0.0.1:1/${given.path}` }),
    asking: await tool('asking', {
      kind: 'http',
      url: `${http.origin}/${given.path}`,
      approval: 'always',
      show: 'name',
    }),
  };
  await told(house, `/tools/${toolIds.mcp}/refresh`, {});
  await told(
    house,
    `/tools/${toolIds.mcp}`,
    { timeout_seconds: 1, functions: [{ name: 'mcp', enabled: true }] },
    'PATCH',
  );
  const assistants: Record<string, string> = {};
  const slugs: Record<string, string> = {};
  for (const kind of kinds) {
    slugs[kind] = `t4-${kind}`;
    const link = {
      slug: slugs[kind],
      limits: {
        messages_per_visitor_per_day: null,
        messages_per_address_per_hour: null,
        minutes_per_day: null,
        concurrent_visitors: null,
      },
    };
    assistants[kind] = (
      await house.assistant({
        model: { provider: 'synthetic', name: `call=${kind},tokens=2` },
        tool_ids: [toolIds[kind]],
        channels: { link: true },
        link,
      })
    ).id;
  }
  const canaries = [
    ...Object.entries(given).map(([name, text]) => canary(name, text)),
    ...signing.map((secret, index) => canary(`signing secret ${index}`, secret)),
  ];
  return { house, http, mcp, assistants, slugs, canaries, ...(await watch(t, house)) };
}

async function watch(t: Owner, house: House): Promise<Pick<Scene, 'socket' | 'shown'>> {
  const socket = new WebSocket(`${house.url.replace('http', 'ws')}/console/api/inspect`, {
    headers: { authorization: `Bearer ${house.operatorToken}` },
  });
  const shown: Buffer[] = [];
  socket.on('message', (message: Buffer) => shown.push(message));
  t.teardown(async () => socket.terminate());
  await once(socket, 'message');
  return { socket, shown };
}

/** The answer to a call; to all else what a server says that speaks the newest protocol. */
function mcpAnswer(response: ServerResponse, { id, method }: any, answer: object): void {
  if (id === undefined) return void response.writeHead(202).end();
  const discovered = {
    result: {
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {} },
      serverInfo: { name: given.name, version: given.said },
      instructions: given.said,
    },
  };
  response
    .writeHead(200, { 'content-type': 'application/json', 'x-said': given.said })
    .end(JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'server/discover' ? discovered : answer) }));
}

/**
 * The same conversation as an API key has it, a visitor, and clients of the other protocols, and what can be read of it
 * later.
 */
async function converse(
  trial: Trial,
  { http, mcp, assistants, slugs }: Scene,
  outside: House,
  kind: (typeof kinds)[number],
): Promise<void> {
  const { random } = trial;
  const how = random.pick(Object.keys(answers));
  http.answer = (response) => answers[how]!(response, random);
  const mcpHow = random.pick(Object.keys(mcpAnswers));
  mcp.answer = (response, body) =>
    random.chance(0.5) && body.method === 'tools/call'
      ? answers[how]!(response, random)
      : mcpAnswer(response, body, mcpAnswers[mcpHow]!);
  trial.count(kind === 'mcp' ? `mcp ${mcpHow}` : how);
  const assistantId = assistants[kind]!;
  const session = await outside.session(assistantId);
  await talked(outside, `/sessions/${session.id}`, {});
  const slug = `/p/${slugs[kind]}`;
  const { json: visitor } = await outside.ask(`${slug}/visitors`, { key: null, body: { channel: 'link' } });
  const key = visitor.token as string;
  const { json: visit } = await outside.ask(`${slug}/sessions`, { key, body: {} });
  await talked(outside, `${slug}/sessions/${visit.id}`, { key });
  await outside.ask('/usage');
  await outside.ask('/sessions');
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: `ask_${assistantId}`, arguments: { message: 'Go' } },
  };
  const headers = {
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${outside.key}`,
    'content-type': 'application/json',
  };
  const fronts: [path: string, body: object][] = [
    ['/mcp', body],
    [
      '/v1/chat/completions',
      { model: assistantId, messages: [{ role: 'user', content: 'Go' }], stream: random.chance(0.5) },
    ],
    ['/v1/responses', { model: assistantId, input: 'Go' }],
  ];
  for (const [path, asked] of fronts)
    await (await fetch(outside.url + path, { method: 'POST', headers, body: JSON.stringify(asked) })).text();
}

async function talked(house: House, path: string, ask: { key?: string }): Promise<void> {
  const stream = await house.stream(`${path}/chat`, { ...ask, body: { message: 'Go' } });
  const events = await stream.rest();
  const pending = events.at(-1)?.data.tool_calls as { call_id: string }[] | undefined;
  if (pending !== undefined)
    await (
      await house.stream(`${path}/chat`, {
        ...ask,
        body: { tool_results: pending.map(({ call_id }) => ({ call_id, approved: true })) },
      })
    ).rest();
  await (await house.stream(`${path}/turns/${stream.turnId}/events`, ask)).rest();
  for (const one of [path, `${path}/transcript`]) await house.ask(one, ask);
}

async function scan(
  trial: Trial,
  { house, canaries, socket, shown }: Scene,
  outside: House,
  relay: Relay,
): Promise<void> {
  await outside.ask('/metrics');
  socket.ping();
  await once(socket, 'pong');
  const places: [string, Buffer][] = [
    ...relay.kept,
    ['feed', Buffer.concat(shown)],
    ['standard output', Buffer.from(house.stdout())],
    ['standard error', Buffer.from(house.stderr())],
  ];
  for (const [place, bytes] of places) {
    // A caller who approves sees the arguments.
    const hidden = place === 'before' ? canaries.filter(({ name }) => name !== 'asked') : canaries;
    for (const name of found(bytes, hidden)) trial.must(false, `${place} has the ${name} of a tool`);
    trial.measured(`bytes scanned of ${place}`, bytes.length);
  }
}
