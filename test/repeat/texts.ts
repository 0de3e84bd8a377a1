/**
 * Texts and values that are made for a reader: each is one that once took the square of its length, or more. They are
 * long, so that a row sends fewer of them than of others.
 */
import { openServer } from '../api/mcp-server.ts';
import { eventStream } from '../providers/model/provider.ts';
import { answers, delta, finish } from './providers.ts';
import { requests, sentOf } from './requests.ts';
import type { Row, Sent } from './rows.ts';
import { eachOf, Statuses, type Ask } from './sender.ts';
import { frame, RawSocket } from './socket.ts';
import type { RepeatWorld } from './world.ts';

/** A hundred thousand of others are as many of these. */
const share = (times: number): number => Math.ceil(times / 2_000);

const row = (name: string, by: Row['by'], send: Row['send']): Row => ({
  name: `a text: ${name}`,
  by,
  covers: null,
  send,
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const posted = (path: string, token: string, body: string, headers: Readonly<Record<string, string>> = {}): Ask => ({
  method: 'POST',
  path,
  headers: { 'content-type': 'application/json', ...bearer(token), ...headers },
  body,
});

const asked = (name: string, by: Row['by'], status: number, make: (world: RepeatWorld) => Ask): Row =>
  row(name, by, (world, times) => requests(world, share(times), () => make(world), status));

const front = (path: string, fields: string, { house, speaker }: RepeatWorld, model: string = speaker): Ask =>
  posted(path, house.key, `{"model":"${model}",${fields}}`);
const chat =
  (fields: string) =>
  (world: RepeatWorld, model?: string): Ask =>
    front('/v1/chat/completions', `"messages":[{"role":"user","content":"Hi"}],${fields}`, world, model);
const tool = (name: string, parameters: string): string =>
  `{"type":"function","function":{"name":"${name}","parameters":${parameters}}}`;
const schemaOf = (pattern: string): string =>
  JSON.stringify({ type: 'object', properties: { a: { type: 'string', pattern } } });
/** A legal schema of nearly 16 KiB whose pattern has two thousand classes. */
const classes = schemaOf('[\\p{L}]'.repeat(2_000));

/** A provider's answer to a turn, as the events of one stream. */
const stream = (name: string, status: number, ...events: readonly string[]): Row =>
  answers(`a text: ${name}`, status, (response) => {
    response.writeHead(200, eventStream);
    response.end(events.join(''));
  });
const refusal = (name: string, status: number, said: string): Row =>
  answers(
    `a text: ${name}`,
    503,
    (response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(said),
  );

/** The server of a tool whose list has thirty functions with such schemas. */
async function listed(world: RepeatWorld, times: number): Promise<Sent> {
  const teardowns: (() => Promise<void>)[] = [];
  const schema: unknown = JSON.parse(classes);
  const tools = Array.from({ length: 30 }, (_, index) => ({
    name: `f${index}`,
    description: 'A function.',
    inputSchema: schema,
  }));
  const server = await openServer({ teardown: (run) => void teardowns.push(run as () => Promise<void>) }, 'modern', {
    tools,
  });
  const path = `/workspaces/${world.house.workspaceId}/tools`;
  const { json } = await world.house.console(path, { body: { kind: 'mcp', name: 'Patterns', url: server.url } });
  const statuses = new Statuses();
  for (let sent = 0; sent < share(times); sent++)
    statuses.add((await world.house.console(`${path}/${json.id}/refresh`, { method: 'POST' })).status);
  await world.house.console(`${path}/${json.id}`, { method: 'DELETE' });
  for (const run of teardowns) await run();
  return sentOf(statuses, share(times), 200);
}

/** Lists the models of a workspace with many assistants that are drafts. */
async function drafts({ house, port }: RepeatWorld, times: number): Promise<Sent> {
  const { json: workspace } = await house.console('/workspaces', { body: { name: 'drafts' } });
  const { json: made } = await house.console(`/workspaces/${workspace.id}/keys`, {
    body: { name: 'lister', limits: { requests: 1_000_000 } },
  });
  const statuses = new Statuses();
  const create = posted(`/console/api/workspaces/${workspace.id}/assistants`, house.operatorToken, '{"name":"Draft"}');
  await eachOf(port, Math.min(10_000, 10 * times), async (ask) => void (await ask(create)), false);
  await eachOf(port, share(times), async (ask) =>
    statuses.add((await ask({ path: '/v1/models', headers: bearer(made.key as string) })).status),
  );
  await house.console(`/workspaces/${workspace.id}`, { method: 'DELETE' });
  return sentOf(statuses, share(times), 200);
}

/** A reply that a call speaks, sent by its model in one event. */
const spoken = (name: string, text: string): Row =>
  row(`a reply of ${name} in a call`, 'provider', async ({ house, provider, credential, port }, times) => {
    const assistant = await house.assistant({
      model: { provider: 'openai', name: 'm', credential_id: credential },
      channels: { voice: true },
      voice: { provider: 'synthetic', name: 'audio_ms=300', transcription_name: 'text=hello' },
    });
    const calls = Math.ceil(times / 50_000);
    let answered = 0;
    for (let call = 0; call < calls; call++) {
      const session = await house.session(assistant.id);
      const { json } = await house.ask('/call-tokens', { key: house.key, body: { session_id: session.id } });
      const given = new Promise<void>((resolve) => {
        provider.answer = (response) =>
          void response.writeHead(200, eventStream).end(delta({ content: text }) + finish, () => resolve());
      });
      const socket = await RawSocket.open(port, `/call?token=${json.token}`);
      await socket.send(frame('text', '{"type":"message","text":"Hello"}'));
      await given;
      answered++;
      // The text has reached the server, and what it does with it is done between two answers.
      for (let look = 0; look < 50; look++) await (await fetch(`${house.url}/healthz`)).text();
      await socket.taken();
      socket.destroy();
    }
    return { sent: calls, came: `${answered} replies`, missed: answered === calls ? null : 'no reply came' };
  });

const appended = row('base64 that ends in padding', 'key', async ({ house, speaker, port }, times) => {
  const event = frame(
    'text',
    JSON.stringify({ type: 'input_audio_buffer.append', audio: `AAAA${'='.repeat(60_000)}` }),
  );
  const socket = await RawSocket.open(port, `/v1/realtime?model=${speaker}`, bearer(house.key));
  for (let sent = 0; sent < share(times) && socket.isOpen; sent++) await socket.send(event);
  await socket.taken();
  const came = socket.refusal ?? 'all taken';
  socket.destroy();
  return { sent: share(times), came, missed: null };
});

const detail = (index: number): object => ({ type: 'reasoning.text', text: 'a', index });

export const textRows: readonly Row[] = [
  asked('a pattern of 900 KB', 'key', 400, chat(`"tools":[${tool('f', schemaOf('[\\p{L}]'.repeat(110_000)))}]`)),
  asked(
    'twenty schemas of many classes',
    'key',
    200,
    chat(`"tools":[${Array.from({ length: 20 }, (_, index) => tool(`f${index}`, classes)).join()}]`),
  ),
  row('a list of thirty schemas of many classes', 'operator', listed),
  asked('350,000 items of a response', 'key', 400, (world) =>
    front('/v1/responses', `"input":[${Array<string>(349_000).fill('{}').join()}]`, world),
  ),
  asked('350,000 messages', 'key', 400, (world) =>
    front('/v1/chat/completions', `"messages":[${Array<string>(349_000).fill('{}').join()}]`, world),
  ),
  asked('a message of the MCP server that is nested deeply', 'key', 400, ({ house }) =>
    posted(
      '/mcp',
      house.key,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":${'['.repeat(120_000)}${']'.repeat(120_000)}}}}`,
    ),
  ),
  asked('2,000 messages of one role', 'key', 200, (world) =>
    front(
      '/v1/chat/completions',
      `"messages":[${Array.from({ length: 2_000 }, () => `{"role":"user","content":"${'a'.repeat(400)}"}`).join()}]`,
      world,
    ),
  ),
  asked('a content type of white space', 'nobody', 400, () => ({
    method: 'POST',
    path: '/console/api/sign-in',
    headers: { 'content-type': `a/b${' '.repeat(14_000)}x` },
    body: '{}',
  })),
  appended,
  row('a transcript from one address', 'visitor', (world, times) =>
    requests(
      world,
      Math.max(times, 700),
      () => ({ path: `/p/repeat/sessions/${world.visited.session}/transcript`, headers: bearer(world.visit.token) }),
      429,
      false,
    ),
  ),
  row('the models of many drafts', 'key', drafts),
  refusal('a refusal of 16 KB', 400, 'exceed'.repeat(3_000)),
  refusal('a refusal of 80 KB', 400, 'exceed'.repeat(13_000)),
  stream(
    'an error of 4 MB in an answer',
    503,
    `data: ${JSON.stringify({ error: { message: 'exceed'.repeat(600_000) } })}\n\n`,
  ),
  stream(
    'a finish of white space',
    200,
    delta({ content: 'Hi' }),
    `data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: `${' '.repeat(1_000_000)}x` }] })}\n\n`,
    'data: [DONE]\n\n',
  ),
  stream(
    '70,000 details of reasoning',
    200,
    delta({ reasoning_details: Array.from({ length: 70_000 }, (_, index) => detail(index)) }),
    finish,
  ),
  stream(
    'details of reasoning in 50,000 events',
    200,
    ...Array.from({ length: 50_000 }, (_, index) => delta({ reasoning_details: [detail(index)] })),
    finish,
  ),
  spoken('abbreviations', 'Dr. '.repeat(50_000)),
  spoken('brackets', '['.repeat(200_000)),
  spoken('short sentences', 'A! '.repeat(66_000)),
  spoken('blank lines', `Hi.${'\n'.repeat(199_000)}`),
  spoken('signs', `Hi ${'* '.repeat(99_000)}`),
];
