/** Assistants that use tools (contract 13): what is stored before it is sent, and what a conversation shows of it. */
import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import type { Owner } from '../folders.ts';
import { data, delta, done, eventStream } from '../providers/model/provider.ts';
import { openWorkspace, textOf, type House, type StreamEvent } from './house.ts';
import { Caller } from './caller.ts';
import { answered, onProvider } from './talk.ts';

interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: any;
}

/** A tool: remembers what it got, and answers as the test says. */
async function openTool(
  t: Owner,
  answer: (got: Got, response: ServerResponse, request: IncomingMessage) => void = (_, response) =>
    reply(response, { shipped: true }),
) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const one = { headers: request.headers, text, body: JSON.parse(text) };
      got.push(one);
      answer(one, response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/call` };
}

function reply(response: ServerResponse, body: unknown, status = 200, type = 'application/json'): void {
  response.writeHead(status, { 'content-type': type });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

const orderSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
const lookUp = { name: 'look_up', description: 'Looks an order up.', parameters: orderSchema };

const toolsPath = (house: House): string => `/workspaces/${house.workspaceId}/tools`;

async function newTool(house: House, fields: object): Promise<any> {
  const { status, json } = await house.console(toolsPath(house), {
    body: { kind: 'http', name: 'Orders', functions: [lookUp], ...fields },
  });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return json;
}

/** A session with an assistant that has these tools. */
async function sessionWith(house: House, model: string, toolIds: readonly string[], fields: object = {}): Promise<any> {
  const assistant = await house.assistant({
    model: { provider: 'synthetic', name: model },
    tool_ids: toolIds,
    ...fields,
  });
  return house.session(assistant.id);
}

async function chat(
  house: House,
  id: string,
  body: object = { message: 'Where is my order?' },
): Promise<StreamEvent[]> {
  const stream = await house.stream(`/sessions/${id}/chat`, { key: house.key, body });
  return stream.rest();
}

const lastOf = async (house: House, id: string): Promise<any> =>
  (await house.ask(`/sessions/${id}/transcript`, { key: house.key })).json.data.at(-1);
const kinds = (events: readonly StreamEvent[]): string[] =>
  events.map(({ event }) => event).filter((event, index, all) => event !== all[index - 1]);

t.test('a call is signed, told of by name, and stands in the transcript', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url });
  t.match(made, {
    object: 'tool',
    kind: 'http',
    timeout_seconds: 20,
    repeatable: false,
    approval: 'never',
    show: 'name',
    calls_per_minute: null,
    refreshed_at: null,
    signing_secret: /^whsec_/,
  });
  const session = await sessionWith(house, 'call=look_up,tokens=3', [made.id], { greeting: null });
  const events = await chat(house, session.id);
  t.same(kinds(events), ['turn.started', 'tool.started', 'tool.ended', 'message.delta', 'turn.completed']);
  const [, started, ended] = events;
  const callId = started!.data.call_id;
  t.match(callId, /^call_/);
  t.same([started!.id, started!.data], ['0', { call_id: callId, name: 'look_up' }]);
  t.same([ended!.id, ended!.data], ['0', { call_id: callId, name: 'look_up', status: 'completed', error: null }]);
  t.equal(events.at(-1)!.data.stop_reason, 'end');

  t.equal(tool.got.length, 1);
  const { headers, text, body } = tool.got[0]!;
  t.match(body, {
    type: 'tool.call',
    timestamp: /^\d{4}-\d\d-\d\dT/,
    data: {
      call_id: callId,
      name: 'look_up',
      arguments: { order: 'word' },
      assistant_id: session.assistant_id,
      session_id: session.id,
      turn_id: /^turn_/,
      channel: 'api',
      visitor: {},
      metadata: {},
    },
  });
  t.equal(headers['webhook-id'], callId);
  t.equal(headers['idempotency-key'], callId);
  t.equal(headers['authorization'], undefined);
  const key = Buffer.from(made.signing_secret.slice(6), 'base64');
  t.equal(
    headers['webhook-signature'],
    `v1,${createHmac('sha256', key).update(`${callId}.${headers['webhook-timestamp']}.${text}`).digest('base64')}`,
  );

  const message = await lastOf(house, session.id);
  t.match(message.tool_calls, [
    {
      id: callId,
      object: 'tool_call',
      name: 'look_up',
      position: 0,
      status: 'completed',
      error: null,
      arguments: null,
      output: null,
    },
  ]);
  const seen = await house.console(`/workspaces/${house.workspaceId}/sessions/${session.id}/transcript`);
  t.match(seen.json.data.at(-1).tool_calls, [{ arguments: { order: 'word' }, output: '{"shipped":true}' }]);
  const steps = await house.console(
    `/workspaces/${house.workspaceId}/sessions/${session.id}/turns/${message.turn_id}/steps`,
  );
  t.match(steps.json.data, [
    { seq: 1, kind: 'call', call_id: callId, name: 'look_up' },
    { seq: 2, kind: 'result', status: 'completed', milliseconds: Number },
    { seq: 3, kind: 'text', call_id: null },
  ]);
  const usage = await house.ask('/usage', { key: house.key });
  t.equal(usage.json.totals.tool_calls, 1);

  const again = await house.stream(`/sessions/${session.id}/turns/${message.turn_id}/events`, { key: house.key });
  t.same(kinds(await again.rest()), kinds(events), 'read again');
  const resumed = await house.stream(`/sessions/${session.id}/turns/${message.turn_id}/events?after=5`, {
    key: house.key,
  });
  t.same(kinds(await resumed.rest()), ['message.delta', 'turn.completed']);
});

t.test('the calls of a round run side by side, and the model is asked again once all have a result', async (t) => {
  const house = await openWorkspace();
  const waiting: ServerResponse[] = [];
  const tool = await openTool(t, (_, response) => {
    waiting.push(response);
    if (waiting.length === 3) for (const one of waiting.reverse()) reply(one, 'done', 200, 'text/plain');
  });
  const made = await newTool(house, { url: tool.url, show: 'full' });
  const session = await sessionWith(house, 'call=look_up,calls=3,tokens=2', [made.id]);
  const events = await chat(house, session.id);
  t.same(
    events.filter(({ event }) => event === 'tool.started').map(({ data }) => data.arguments),
    [{ order: 'word' }, { order: 'word' }, { order: 'word' }],
  );
  t.same(
    events.filter(({ event }) => event === 'tool.ended').map(({ data }) => data.output),
    ['done', 'done', 'done'],
  );
  t.equal(textOf(events), 'word word ');
  const { tool_calls: calls } = await lastOf(house, session.id);
  t.match(calls, [{ output: 'done', arguments: { order: 'word' } }, { output: 'done' }, { output: 'done' }]);
  t.equal(new Set(calls.map(({ id }: { id: string }) => id)).size, 3);
});

t.test('calls that are not sent have their result at once', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url });
  const errorsOf = async (model: string, fields: object = {}): Promise<string[]> => {
    const session = await sessionWith(house, model, [made.id], fields);
    const events = await chat(house, session.id);
    t.equal(events.at(-1)!.event, 'turn.completed');
    const { tool_calls: calls } = await lastOf(house, session.id);
    t.equal(
      events.filter(({ event }) => event === 'tool.started').length,
      calls.filter(({ error }: { error: string | null }) => error === null).length,
    );
    return calls.map(({ error }: { error: string | null }) => error ?? 'sent');
  };
  t.same(await errorsOf('call=look_up,call_bad=1'), ['arguments']);
  t.same(await errorsOf('call=fly away!'), ['unknown_tool']);
  t.same(await errorsOf('call=look_up,calls=10'), [...Array(8).fill('sent'), 'limit', 'limit']);
  t.same(await errorsOf('call=look_up,call_rounds=3', { tool_rounds_max: 2 }), ['sent', 'sent', 'limit']);
  await house.console(`${toolsPath(house)}/${made.id}`, { method: 'PATCH', body: { calls_per_minute: 1 } });
  t.same(await errorsOf('call=look_up,calls=2'), ['sent', 'limit']);
  const plain = await house.assistant({ model: { provider: 'synthetic', name: 'call=look_up,tokens=2' } });
  const session = await house.session(plain.id);
  t.equal(textOf(await chat(house, session.id)), 'word word ', 'an assistant without tools');
  t.match((await lastOf(house, session.id)).tool_calls, [{ error: 'unknown_tool' }]);
});

t.test('long arguments of what is too much for a round are not kept', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url, functions: [{ name: 'look_up' }] });
  const order = 'x'.repeat(20_000);
  const call = (index: number, text: string) =>
    data({
      choices: [
        {
          delta: {
            tool_calls: [
              { index, id: `c${index}`, function: { name: 'look_up', arguments: JSON.stringify({ order: text }) } },
            ],
          },
        },
      ],
    });
  const { assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      response.writeHead(200, eventStream);
      const isAnswered = body.messages.at(-1).role === 'tool';
      response.end(
        (isAnswered
          ? delta('done')
          : Array.from({ length: 10 }, (_, index) => call(index, index === 9 ? 'short' : order)).join('')) +
          delta('', isAnswered ? 'stop' : 'tool_calls') +
          done,
      );
    },
    { tool_ids: [made.id] },
  );
  const session = await house.session(assistant.id);
  t.equal((await chat(house, session.id)).at(-1)!.event, 'turn.completed');
  const { json } = await house.console(`/workspaces/${house.workspaceId}/sessions/${session.id}/transcript`);
  t.same(
    json.data.at(-1).tool_calls.map(({ error, arguments: given }: any) => [error, given?.order?.length ?? null]),
    [...Array(8).fill([null, 20_000]), ['limit', null], ['limit', 5]],
  );
});

t.test('what a tool answers decides what becomes of its call', async (t) => {
  const house = await openWorkspace();
  const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
    refused: (response) => reply(response, {}, 400),
    redirected: (response) => (response.writeHead(302, { location: 'http://127.0.0.1/' }), response.end()),
    malformed: (response) => reply(response, 'no json'),
    other: (response) => reply(response, '<p>', 200, 'application/pdf'),
    large: (response) => reply(response, 'x'.repeat(1024 * 1024 + 1), 200, 'text/plain'),
    ends: (_, request) => request.socket.destroy(),
    empty: (response) => (response.writeHead(204), response.end()),
    long: (response) => reply(response, 'é'.repeat(20_000), 200, 'text/plain'),
  };
  const tool = await openTool(t, ({ body }, response, request) => answers[body.data.name]!(response, request));
  const functions = Object.keys(answers).map((name) => ({ name, parameters: { type: 'object' } }));
  const made = await newTool(house, { url: tool.url, functions, show: 'full' });
  const endOf = async (name: string): Promise<{ status: string; error: string | null; output: string | null }> => {
    const session = await sessionWith(house, `call=${name}`, [made.id]);
    return (await chat(house, session.id)).find(({ event }) => event === 'tool.ended')!.data;
  };
  for (const [name, error] of [
    ['refused', 'refused'],
    ['redirected', 'refused'],
    ['malformed', 'malformed'],
    ['other', 'malformed'],
    ['large', 'too_large'],
    ['ends', 'unreachable'],
  ] as const) {
    const { status, error: told } = await endOf(name);
    t.same([status, told], ['failed', error], name);
  }
  t.match(await endOf('empty'), { status: 'completed', error: null, output: '' });
  const { output } = await endOf('long');
  t.equal([...output!].length, 16_000);
  t.match(output, /^é+\n\[The rest of this output was cut\.\]$/);
  t.equal(tool.got.length, 8, 'none is sent twice');
});

t.test('a disabled tool is offered to no model, and each call of it is unknown_tool', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url });
  t.equal(made.disabled, false);
  const path = `${toolsPath(house)}/${made.id}`;
  const disable = async (id: string, disabled: boolean): Promise<void> => {
    const { status, json } = await house.console(`${toolsPath(house)}/${id}`, { method: 'PATCH', body: { disabled } });
    t.same([status, json.disabled], [200, disabled]);
  };
  const session = await sessionWith(house, 'call=look_up,tokens=1', [made.id]);
  const { json: listed } = await house.console(`/workspaces/${house.workspaceId}/assistants`);
  await disable(made.id, true);
  t.same(
    (await house.console(`/workspaces/${house.workspaceId}/assistants`)).json.data.map(({ draft }: any) => draft),
    listed.data.map(({ draft }: any) => draft),
    'it is in no digest',
  );
  await chat(house, session.id);
  t.match(await lastOf(house, session.id), { tool_calls: [] }, 'the model is offered nothing to call');
  const test = await house.console(`${path}/test`, { body: { name: 'look_up', arguments: { order: '7' } } });
  t.match(test.json, { status: 'failed', error: 'unknown_tool' });
  await disable(made.id, false);
  await chat(house, session.id);
  t.match((await lastOf(house, session.id)).tool_calls, [{ name: 'look_up', status: 'completed' }]);
  t.equal(tool.got.length, 1);

  const asks = await newTool(house, { url: tool.url, approval: 'always', name: 'Asks' });
  const waiting = await sessionWith(house, 'call=look_up,tokens=1', [asks.id]);
  const asked = (await chat(house, waiting.id)).at(-1)!.data.tool_calls[0].call_id;
  await disable(asks.id, true);
  await chat(house, waiting.id, { tool_results: [{ call_id: asked, approved: true }] });
  const { json } = await house.ask(`/sessions/${waiting.id}/transcript`, { key: house.key });
  t.match(json.data[1].tool_calls, [{ status: 'failed', error: 'unknown_tool' }], 'an approved call is not sent');
  t.equal(tool.got.length, 1);
});

t.test('only a repeatable call is sent again, with the same id', async (t) => {
  const house = await openWorkspace();
  let left = 2;
  const tool = await openTool(t, (_, response) => reply(response, {}, left-- > 0 ? 503 : 200));
  const made = await newTool(house, { url: tool.url, repeatable: true });
  const session = await sessionWith(house, 'call=look_up', [made.id]);
  await chat(house, session.id);
  t.match((await lastOf(house, session.id)).tool_calls, [{ status: 'completed' }]);
  t.equal(tool.got.length, 3);
  t.equal(new Set(tool.got.map(({ headers }) => headers['webhook-id'])).size, 1);
});

t.test('a test call is signed and bounded as a turn’s, and is no usage', async (t) => {
  const house = await openWorkspace();
  let output: string | null = '{"shipped":true}';
  const tool = await openTool(t, (_, response) =>
    output === null ? reply(response, {}, 500) : reply(response, output),
  );
  const off = { ...lookUp, name: 'off', enabled: false };
  const made = await newTool(house, { url: tool.url, functions: [lookUp, off], calls_per_minute: 4 });
  const test = async (body: object, id: string = made.id) => house.console(`${toolsPath(house)}/${id}/test`, { body });
  const { status, json } = await test({ name: 'look_up', arguments: { order: '7' } });
  t.equal(status, 200);
  t.match(json, {
    object: 'tool_test',
    call_id: /^call_/,
    status: 'completed',
    error: null,
    reason: null,
    output: '{"shipped":true}',
    milliseconds: Number,
  });
  const { headers, text, body } = tool.got[0]!;
  t.match(body.data, {
    call_id: json.call_id,
    name: 'look_up',
    arguments: { order: '7' },
    assistant_id: null,
    session_id: null,
    turn_id: null,
    channel: 'console',
    visitor: {},
    metadata: {},
  });
  const key = Buffer.from(made.signing_secret.slice(6), 'base64');
  t.equal(
    headers['webhook-signature'],
    `v1,${createHmac('sha256', key).update(`${json.call_id}.${headers['webhook-timestamp']}.${text}`).digest('base64')}`,
  );
  t.match((await test({ name: 'look_up' })).json, {
    status: 'failed',
    error: 'arguments',
    reason: '`order` is missing.',
    output: null,
  });
  t.match((await test({ name: 'look_up', arguments: { order: 'x'.repeat(33_000) } })).json, {
    status: 'failed',
    error: 'arguments',
    reason: 'The arguments have more than 32 KiB.',
  });
  t.match(
    (await test({ name: 'off', arguments: { order: '7' } })).json,
    { status: 'completed' },
    'a function that is off',
  );
  output = null;
  t.match((await test({ name: 'off', arguments: { order: '7' } })).json, { status: 'failed', error: 'refused' });
  output = JSON.stringify('x'.repeat(17_000));
  t.match(
    (await test({ name: 'off', arguments: { order: '7' } })).json.output,
    /^.{15000,15990}\n\[The rest of this output was cut\.\]$/,
  );
  t.match((await test({ name: 'look_up', arguments: { order: '7' } })).json, { status: 'failed', error: 'limit' });
  t.equal(tool.got.length, 4, 'only what was to be sent');
  t.match(await test({ name: 'fly', arguments: {} }), { status: 422, json: { error: { message: /`name`/ } } });
  const client = await newTool(house, { kind: 'client', url: null });
  t.match(await test({ name: 'look_up' }, client.id), { status: 422, json: { error: { message: /`kind`/ } } });
  t.equal((await house.console(`/workspaces/${house.workspaceId}/usage`)).json.totals.tool_calls, 0);
});

t.test('after rotations the new secret signs, and so do the nine newest before it', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url });
  const session = await sessionWith(house, 'call=look_up', [made.id]);
  const secrets: string[] = [made.signing_secret];
  const rotate = async () =>
    secrets.unshift(
      (await house.console(`${toolsPath(house)}/${made.id}/rotate-secret`, { method: 'POST' })).json.signing_secret,
    );
  const signedBy = async (signing: readonly string[]) => {
    await chat(house, session.id);
    const { headers, text } = tool.got.at(-1)!;
    const signed = signing.map((secret) => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      return `v1,${createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${text}`).digest('base64')}`;
    });
    t.equal(headers['webhook-signature'], signed.join(' '), `${signing.length} of ${secrets.length}`);
  };
  for (const count of [2, 3]) {
    await rotate();
    await signedBy(secrets.slice(0, count));
  }
  while (secrets.length < 11) await rotate();
  await signedBy(secrets.slice(0, 10));
});

t.test("a tool's path is asked for as it was entered", async (t) => {
  const house = await openWorkspace();
  const paths: string[] = [];
  const tool = await openTool(t, (_, response, { url = '' }) => {
    paths.push(url);
    reply(response, {});
  });
  for (const path of ['', '/', '/call', '/call/', '/a%20b//']) {
    const made = await newTool(house, { url: new URL(tool.url).origin + path });
    await chat(house, (await sessionWith(house, 'call=look_up,tokens=1', [made.id])).id);
  }
  t.same(paths, ['/', '/', '/call', '/call/', '/a%20b//']);
});

t.test('an abort cancels what runs and closes its connection', async (t) => {
  const house = await openWorkspace();
  let closed = (): void => {};
  const isClosed = new Promise<void>((resolve) => (closed = resolve));
  const tool = await openTool(t, (_, response) => void response.on('close', closed));
  const made = await newTool(house, { url: tool.url });
  const session = await sessionWith(house, 'call=look_up', [made.id]);
  const stream = await house.stream(`/sessions/${session.id}/chat`, { key: house.key, body: { message: 'Go' } });
  t.equal((await stream.next())!.event, 'turn.started');
  t.equal((await stream.next())!.event, 'tool.started');
  const { json } = await house.ask(`/sessions/${session.id}/transcript`, { key: house.key });
  t.match(json.data.at(-1), { status: 'streaming', tool_calls: [{ status: 'running', error: null, ended_at: null }] });
  t.equal(
    (await house.ask(`/sessions/${session.id}/turns/${stream.turnId}/abort`, { method: 'POST', key: house.key }))
      .status,
    200,
  );
  t.same(
    (await stream.rest()).map(({ event, data }) => [event, data.status, data.error]),
    [
      ['tool.ended', 'cancelled', 'cancelled'],
      ['turn.aborted', undefined, undefined],
    ],
  );
  t.match(await lastOf(house, session.id), {
    status: 'partial',
    stop_reason: 'aborted',
    tool_calls: [{ status: 'cancelled' }],
  });
  await isClosed;
});

t.test('what the caller is to run ends the turn, and is answered by the next chat', async (t) => {
  const house = await openWorkspace();
  const made = await newTool(house, { kind: 'client', url: undefined });
  const session = await sessionWith(house, 'call=look_up,tokens=2', [made.id]);
  const events = await chat(house, session.id);
  t.same(kinds(events), ['turn.started', 'turn.completed']);
  const { stop_reason: reason, tool_calls: pending } = events.at(-1)!.data;
  t.equal(reason, 'tool_calls');
  const callId = pending[0].call_id;
  t.same(pending, [{ call_id: callId, name: 'look_up', arguments: { order: 'word' }, wants: 'result' }]);
  const path = `/sessions/${session.id}`;
  t.same((await house.ask(path, { key: house.key })).json.pending_tool_calls, pending);
  t.match(await lastOf(house, session.id), {
    stop_reason: 'tool_calls',
    status: 'completed',
    tool_calls: [{ status: 'pending', error: null, arguments: { order: 'word' } }],
  });

  const send = (body: object) => house.ask(`${path}/chat`, { key: house.key, body });
  const fields = async (body: object): Promise<unknown[]> => {
    const { status, json } = await send(body);
    return [status, /`(.*)`/.exec(json.error.message)?.[1]];
  };
  t.same(await fields({}), [422, 'message']);
  t.same(await fields({ message: 'x', tool_results: [] }), [422, 'message']);
  t.same(await fields({ tool_results: [{ call_id: callId, output: 'x'.repeat(16_001) }] }), [422, 'message']);
  t.same(await fields({ tool_results: [] }), [422, 'tool_results']);
  t.same(await fields({ tool_results: [{ call_id: 'call_x', output: '' }] }), [422, 'tool_results']);
  t.same(await fields({ tool_results: [{ call_id: callId, approved: true }] }), [422, 'tool_results']);
  t.same(
    await fields({
      tool_results: [
        { call_id: callId, output: '' },
        { call_id: callId, output: '' },
      ],
    }),
    [422, 'tool_results'],
  );

  const results = { tool_results: [{ call_id: callId, output: 'It is on its way.' }] };
  const under = (body: object) =>
    house.ask(`${path}/chat`, { key: house.key, headers: { 'idempotency-key': 'results' }, body });
  const first = await under(results);
  const repeated = await under(results);
  t.same(
    [repeated.status, repeated.headers.get('idempotent-replayed'), repeated.headers.get('x-turn-id')],
    [200, 'true', first.headers.get('x-turn-id')],
    'a repeat is answered although nothing waits any more',
  );
  t.match(
    (await under({ tool_results: [{ call_id: callId, output: 'other' }] })).json.error.message,
    /Idempotency-Key/,
  );
  const turn = await house.stream(`${path}/turns/${first.headers.get('x-turn-id')}/events`, { key: house.key });
  const answered = [{ event: 'turn.started' }, ...(await turn.rest())] as StreamEvent[];
  t.same(kinds(answered), ['turn.started', 'message.delta', 'turn.completed']);
  const { json } = await house.ask(`${path}/transcript`, { key: house.key });
  t.same(
    json.data.map(({ role }: { role: string }) => role),
    ['user', 'assistant', 'assistant'],
    'no message of the user',
  );
  t.match(json.data[1].tool_calls, [{ id: callId, status: 'completed', error: null }]);
  t.same((await house.ask(path, { key: house.key })).json.pending_tool_calls, []);
  t.same(await fields({ tool_results: [{ call_id: callId, output: '' }] }), [422, 'tool_results']);

  const more = await sessionWith(house, 'call=look_up', [made.id]);
  await chat(house, more.id);
  await chat(house, more.id, { message: 'Never mind' });
  const { json: declined } = await house.ask(`/sessions/${more.id}/transcript`, { key: house.key });
  t.match(declined.data[1].tool_calls, [{ status: 'declined', error: 'declined' }]);
});

t.test('a call that wants approval is sent by the turn that approves it', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url, approval: 'always' });
  const session = await sessionWith(house, 'call=look_up,calls=2,tokens=1', [made.id]);
  const { tool_calls: pending } = (await chat(house, session.id)).at(-1)!.data;
  t.match(pending, [{ wants: 'approval' }, { wants: 'approval' }]);
  t.equal(tool.got.length, 0);
  const [first, second] = pending.map(({ call_id }: { call_id: string }) => call_id);
  const events = await chat(house, session.id, {
    tool_results: [
      { call_id: second, approved: false },
      { call_id: first, approved: true },
    ],
  });
  t.same(events.map(({ event, data }) => [event, data.call_id]).slice(1, 3), [
    ['tool.started', first],
    ['tool.ended', first],
  ]);
  t.equal(tool.got.length, 1);
  const { json } = await house.ask(`/sessions/${session.id}/transcript`, { key: house.key });
  t.match(json.data[1].tool_calls, [
    { id: first, status: 'completed' },
    { id: second, status: 'declined' },
  ]);
  t.same(json.data[2].tool_calls, []);
  t.equal(tool.got[0]!.body.data.turn_id, json.data[2].turn_id);
  const again = await house.stream(`/sessions/${session.id}/turns/${json.data[2].turn_id}/events`, { key: house.key });
  t.same(kinds(await again.rest()), kinds(events));

  const gone = await sessionWith(house, 'call=look_up,tokens=1', [made.id]);
  const asked = (await chat(house, gone.id)).at(-1)!.data.tool_calls[0].call_id;
  const switchOff = { method: 'PATCH', body: { disabled: true } };
  t.equal((await house.console(`${toolsPath(house)}/${made.id}`, switchOff)).status, 200);
  const told = await chat(house, gone.id, { tool_results: [{ call_id: asked, approved: true }] });
  t.match(
    told.slice(0, 2),
    [
      { event: 'turn.started' },
      { event: 'tool.ended', id: '0', data: { call_id: asked, status: 'failed', error: 'unknown_tool' } },
    ],
    'what is not sent has its end alone',
  );
  const replay = await house.stream(`/sessions/${gone.id}/turns/${told[0]!.data.turn_id}/events`, { key: house.key });
  t.same(kinds(await replay.rest()), kinds(told));
  t.match((await house.ask(`/sessions/${gone.id}/transcript`, { key: house.key })).json.data[1].tool_calls, [
    { status: 'failed', error: 'unknown_tool' },
  ]);
  t.equal(tool.got.length, 1);
});

t.test('the next turn of the scripted model has the results', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t, (_, response) => reply(response, 'Paris', 200, 'text/plain'));
  const made = await newTool(house, { url: tool.url });
  const assistant = await house.assistant({ model: { provider: 'scripted', name: 'scripted' }, tool_ids: [made.id] });
  const session = await house.session(assistant.id);
  const events = await chat(house, session.id, { message: '/call look_up {"order": "7"}' });
  t.match(textOf(events), /Paris/);
  t.same(tool.got[0]!.body.data.arguments, { order: '7' });
  t.equal(textOf(await chat(house, session.id, { message: 'Hello' })) === '', false);
});

t.test('the console refuses what a turn could not use', async (t) => {
  const house = await openWorkspace();
  const refused = async (body: object): Promise<unknown> => {
    const { status, json } = await house.console(toolsPath(house), {
      body: { kind: 'http', name: 'Orders', url: 'https://orders.example/call', functions: [lookUp], ...body },
    });
    return status === 422 ? /`(.*)`/.exec(json.error.message)?.[1] : status;
  };
  t.equal(await refused({}), 201);
  t.equal(await refused({ kind: 'shell' }), 'kind');
  t.equal(await refused({ url: null }), 'url');
  t.equal(await refused({ url: 'ftp://orders.example' }), 'url');
  t.equal(await refused({ url: 'https://orders.example/?a=1' }), 'url');
  t.equal(await refused({ kind: 'client' }), 'url');
  t.equal(await refused({ timeout_seconds: 121 }), 'timeout_seconds');
  t.equal(await refused({ calls_per_minute: 0 }), 'calls_per_minute');
  t.equal(await refused({ functions: [lookUp, lookUp] }), 'functions');
  t.equal(await refused({ functions: [{ ...lookUp, name: 'look up' }] }), 'functions');
  t.equal(await refused({ functions: [{ ...lookUp, parameters: { type: 'string' } }] }), 'functions[0].parameters');
  t.equal(
    await refused({
      functions: [
        lookUp,
        { name: 'b', parameters: { type: 'object', properties: { a: { $ref: 'https://a.example/b' } } } },
      ],
    }),
    'functions[1].parameters',
  );
  t.equal(
    await refused({ functions: [{ ...lookUp, parameters: { type: 'object', description: 'x'.repeat(16 * 1024) } }] }),
    'functions[0].parameters',
  );
  t.equal(await refused({ credential_id: 'crd_00000000000000000000000000' }), 'credential_id');

  const credentials = `/workspaces/${house.workspaceId}/credentials`;
  const made = await house.console(credentials, {
    body: { kind: 'tool', base_url: 'https://orders.example', api_key: 'secret', header: 'X-Key' },
  });
  t.match(made.json, { kind: 'tool', provider: 'tool', base_url: 'https://orders.example', header: 'X-Key' });
  t.equal(await refused({ credential_id: made.json.id }), 201);
  t.equal(await refused({ credential_id: made.json.id, url: 'https://other.example/call' }), 'credential_id');
  t.equal((await house.console(credentials, { body: { kind: 'tool', api_key: 'secret' } })).status, 422);
  for (const header of [
    'Host',
    'content-length',
    'Content-Type',
    'transfer-encoding',
    'Connection',
    'webhook-signature',
    'Webhook-Id',
    'Idempotency-Key',
    'mcp-session-id',
    'traceparent',
    'user-agent',
    'proxy-authorization',
    'a b',
    '',
  ]) {
    const { status, json } = await house.console(credentials, {
      body: { kind: 'tool', base_url: 'https://orders.example', api_key: 'secret', header },
    });
    t.match([status, json.error?.message], [422, /`header`/], header);
  }
  const changed = await house.console(`${credentials}/${made.json.id}`, { method: 'PATCH', body: { header: 'Host' } });
  t.match([changed.status, changed.json.error?.message], [422, /`header`/], 'in a change too');

  const [one, other] = [
    await newTool(house, { url: 'https://a.example' }),
    await newTool(house, { url: 'https://b.example', functions: [{ ...lookUp, name: 'other' }] }),
  ];
  const assistants = `/workspaces/${house.workspaceId}/assistants`;
  const wrong = await house.console(assistants, { body: { name: 'A', tool_ids: ['tool_00000000000000000000000000'] } });
  t.match(wrong.json.error.message, /`tool_ids`/);
  const both = await house.console(assistants, { body: { name: 'A', tool_ids: [one.id, other.id] } });
  t.match(both.json, { tool_ids: [one.id, other.id], tool_rounds_max: 8 });
  const clash = await house.console(`${toolsPath(house)}/${other.id}`, {
    method: 'PATCH',
    body: { functions: [lookUp] },
  });
  t.match([clash.status, clash.json.error.message], [422, /`functions`/]);
  const rotated = await house.console(`${toolsPath(house)}/${one.id}/rotate-secret`, { method: 'POST' });
  t.match(rotated.json, { signing_secret: /^whsec_/ });
  t.not(rotated.json.signing_secret, one.signing_secret);
  t.equal((await house.console(`${toolsPath(house)}/${one.id}`)).json.signing_secret, undefined);
  const refresh = await house.console(`${toolsPath(house)}/${one.id}/refresh`, { method: 'POST' });
  t.match([refresh.status, refresh.json.error.message], [422, /`kind`/]);
  t.equal((await house.console(`${toolsPath(house)}/${one.id}`, { method: 'DELETE' })).status, 204);
  t.same((await house.console(`${assistants}/${both.json.id}`)).json.tool_ids, [other.id]);
  await house.console(`${assistants}/${both.json.id}`, {
    method: 'PATCH',
    body: { model: { provider: 'synthetic', name: 'call=look_up,tokens=1' } },
  });
  await house.console(`${assistants}/${both.json.id}/publish`, { method: 'POST' });
  const session = await house.session(both.json.id);
  t.equal((await chat(house, session.id)).at(-1)!.event, 'turn.completed');
  t.match(
    (await lastOf(house, session.id)).tool_calls,
    [{ name: 'look_up', status: 'failed', error: 'unknown_tool' }],
    'its functions are gone with it',
  );
  t.equal((await house.console(`${toolsPath(house)}/${one.id}`)).status, 404);
});

const voiced = {
  channels: { voice: true },
  voice: { provider: 'synthetic', name: 'character_ms=5', transcription_name: 'texts=hello' },
};

async function callOn(t: Owner, house: House, session: any): Promise<Caller> {
  const { json } = await house.ask('/call-tokens', { key: house.key, body: { session_id: session.id } });
  const caller = new Caller(`${house.url.replace('http', 'ws')}/call?token=${json.token}`, session);
  t.teardown(async () => caller.socket.terminate());
  await caller.until('ready');
  return caller;
}

t.test('a spoken turn says what stands before a call of a tool, sends the call, and says what follows', async (t) => {
  const house = await openWorkspace();
  const tool = await openTool(t);
  const made = await newTool(house, { url: tool.url });
  const ask = {
    tool_calls: [
      { index: 0, id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{"order":"A7"}' } },
    ],
  };
  const { assistant } = await onProvider(
    t,
    house,
    (response, { body }) => {
      if (/"role":\s*"tool"/.test(JSON.stringify(body))) return answered(response, ['It is on its way.']);
      response.writeHead(200, eventStream);
      response.write(delta('One moment. '));
      response.write(data({ choices: [{ index: 0, delta: ask }] }));
      response.write(delta('', 'tool_calls'));
      response.end(done);
    },
    { tool_ids: [made.id], ...voiced },
  );
  const session = await house.session(assistant.id);
  const caller = await callOn(t, house, session);
  caller.send({ type: 'message', text: 'Where is my order?' });
  const { message_id: messageId } = await caller.until('turn.started');
  await caller.plays('turn.completed');
  t.equal(caller.textOf(messageId), 'One moment. It is on its way.');
  t.equal(tool.got.length, 1);
  t.match(await lastOf(house, session.id), {
    content: 'One moment. It is on its way.',
    status: 'completed',
    tool_calls: [{ name: 'look_up', status: 'completed', position: 12 }],
    voice: { cut_by: null },
  });
});

t.test('a spoken turn is offered nothing that its caller would have to answer', async (t) => {
  const house = await openWorkspace();
  for (const fields of [
    { kind: 'client', url: undefined },
    { url: 'https://example.com/tool', approval: 'always' },
  ]) {
    const made = await newTool(house, fields);
    const session = await sessionWith(house, 'call=look_up,tokens=3', [made.id], voiced);
    const caller = await callOn(t, house, session);
    caller.send({ type: 'message', text: 'Where is my order?' });
    await caller.plays('turn.completed');
    t.match(await lastOf(house, session.id), { content: 'word word word ', status: 'completed', stop_reason: 'end' });
    t.same((await house.ask(`/sessions/${session.id}`, { key: house.key })).json.pending_tool_calls, []);
  }
});
