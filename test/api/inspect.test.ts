/** `/console/api/inspect`: live actors on a WebSocket (contract 9). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { StatelyFormat } from '../../src/http/console/stately.ts';
import type { Inspected } from '../../src/actors/inspector.ts';
import { limits } from '../../src/base/limits.ts';
import { edge, openHouse, type House } from './house.ts';
import { refusedUpgrade } from './raw.ts';
import { begin, end, say, synthetic } from './talk.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { talk } from '../providers/voice/talker.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_LOG: 'info' } });
  await t.test('only an operator watches', (t) => refusals(t, house));
  await t.test('actors come, move and go in order', (t) => watching(t, house));
  await t.test('a watcher sees what it asked for', (t) => filtered(t, house));
  await t.test('a watcher changes what it sees, and asks for the picture again', (t) => changed(t, house));
  await t.test('steps are numbered, and say who caused them', (t) => caused(t, house));
  await t.test('visitors, sockets and slots have the causes of their requests', (t) => causedElsewhere(t, house));
  await t.test("a watcher gets the messages of Stately's inspector", (t) => stately(t, house));
  await t.test('a watcher that stops reading is told how much it missed', (t) => slow(t, house));
  await t.test('upgrades are logged and counted by their route', (t) => recorded(t, house));
});

t.test("after what was dropped, Stately's viewers get each actor's definition again", (t) => {
  const format = new StatelyFormat();
  const event = {
    type: 'event',
    at: 1,
    actor: { kind: 'session', id: 'ses_1', workspaceId: 'wks_1' },
    event: { type: 'end' },
    from: 'open',
    to: 'ended',
    context: {},
    outcomes: [],
    refused: false,
  } as unknown as Inspected;
  const types = (): unknown[] => format.inspected(event).map((message) => (message as { type: string }).type);
  t.same(types(), ['@xstate.actor', '@xstate.event', '@xstate.snapshot']);
  t.same(types(), ['@xstate.event', '@xstate.snapshot']);
  t.same(format.dropped(), []);
  t.same(types(), ['@xstate.actor', '@xstate.event', '@xstate.snapshot']);
  t.end();
});

const open = (house: House, path: string, token: string | null): WebSocket =>
  new WebSocket(house.url.replace('http', 'ws') + path, {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });

async function refusals(t: Test, house: House): Promise<void> {
  for (const [path, token, status, code, field] of [
    ['/console/api/inspect', null, 401, 'missing_api_key'],
    ['/console/api/inspect', 'not-the-token', 401, 'invalid_api_key'],
    ['/console/api/inspect', house.key, 401, 'invalid_api_key'],
    ['/console/api/nowhere', house.operatorToken, 404, 'route_not_found'],
    ['/console/api/inspect?kind=nothing', house.operatorToken, 422, 'invalid_request', 'kind'],
    ...['json', ''].map(
      (format) =>
        [`/console/api/inspect?format=${format}`, house.operatorToken, 422, 'invalid_request', 'format'] as const,
    ),
  ] as const) {
    const { headers, json, ...answer } = await refusedUpgrade(house.url, path, { token });
    t.equal(answer.status, status, code);
    if (field !== undefined)
      t.equal(json.error.message, `The field \`${field}\` has the wrong type or a value that is not allowed.`);
    t.match(json.error, { code, type: types[status] });
    t.match(json.request_id, /^req_/);
    t.equal(headers.get('x-request-id'), json.request_id);
    t.equal(headers.get('www-authenticate'), status === 401 ? 'Bearer' : null);
  }
  const plain = await house.console('/inspect');
  t.equal(plain.json.error.code, 'route_not_found', 'there is nothing but the socket');
}

const types = { 401: 'authentication_error', 404: 'not_found', 422: 'invalid_request' } as const;

async function recorded(t: Test, house: House): Promise<void> {
  const upgraded = once(open(house, '/console/api/inspect', house.operatorToken), 'upgrade');
  const [{ headers, socket }] = (await upgraded) as [{ headers: Record<string, string>; socket: { destroy(): void } }];
  const refusal = await refusedUpgrade(house.url, '/transcription?token=tok_none', {});
  for (const [id, line] of [
    [headers['x-request-id'], '"route":"/console/api/inspect","status":101'],
    [refusal.json.request_id, '"route":"/transcription","status":401'],
  ] as const) {
    while (!house.stdout().includes(`"${id}"`)) await once(house.child.stdout!, 'data');
    t.match(house.stdout(), new RegExp(`"request_id":"${id}","method":"GET",${line}`));
  }
  socket.destroy();
  const { text } = await house.ask('/metrics', { key: null });
  t.match(text, /^parley_http_requests_total\{route="\/console\/api\/inspect",status="101"\} \d+$/m);
  t.match(text, /^parley_http_requests_total\{route="\/console\/api\/inspect",status="401"\} 3$/m);
  t.match(text, /^parley_http_requests_total\{route="\/transcription",status="401"\} 1$/m);
}

/** A watcher: its messages one at a time. */
async function watch(
  t: Test,
  house: House,
  query = '',
): Promise<{ next(): Promise<any>; until(type: string): Promise<any[]>; send(message: unknown): void }> {
  const socket = open(house, `/console/api/inspect${query}`, house.operatorToken);
  t.teardown(() => socket.terminate());
  const messages: any[] = [];
  let wake = (): void => {};
  socket.on('message', (text) => {
    messages.push(JSON.parse(String(text)));
    wake();
  });
  const next = async (): Promise<any> => {
    while (messages.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return messages.shift();
  };
  await once(socket, 'open');
  return {
    next,
    send: (message) =>
      socket.send(typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message)),
    async until(type) {
      const seen = [];
      do seen.push(await next());
      while (seen.at(-1).event !== type);
      return seen;
    },
  };
}

async function watching(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id } = await house.session(assistant.id);
  const watcher = await watch(t, house, `?kind=session&id=${id}`);
  t.match(await watcher.next(), { type: 'actors', actors: { length: 0 } });
  const stream = await say(house, id);
  await stream.rest();
  const actor = { kind: 'session', id, workspace_id: house.workspaceId };
  t.match(await watcher.until('finished'), [
    { type: 'activated', actor, state: 'open' },
    {
      type: 'event',
      actor,
      event: 'chat',
      data: { type: 'chat', turnId: stream.turnId },
      from: 'open',
      to: 'streaming',
      context: { activeTurnId: stream.turnId },
      outcomes: [{ type: 'turn.begun' }],
    },
    {
      type: 'event',
      actor,
      event: 'finished',
      from: 'streaming',
      to: 'open',
      context: { activeTurnId: null },
      outcomes: [{ type: 'turn.closed' }],
    },
  ]);
  await end(house, id);
  t.match(await watcher.next(), {
    type: 'event',
    event: 'end',
    from: 'open',
    to: 'ended',
    outcomes: [{ type: 'session.ended' }],
    at: Number,
  });

  const later = await watch(t, house, `?kind=session&id=${id}`);
  t.match(await later.next(), {
    type: 'actors',
    actors: [{ kind: 'session', id, workspace_id: house.workspaceId, state: 'ended' }],
  });
}

/** Pictures for a watcher that reads nothing: together more than the buffers of the two ends hold. */
async function slow(t: Test, house: House): Promise<void> {
  const { id: assistantId } = await synthetic(house, 'tokens=1');
  const wake = async (): Promise<void> => {
    for (let made = 0; made < 90; made++) await (await begin(house, assistantId)).stream.rest();
  };
  await Promise.all(Array.from({ length: 8 }, wake));
  const socket = open(house, '/console/api/inspect', house.operatorToken);
  t.teardown(() => socket.terminate());
  const over = once(socket, 'close').then(([code]) => Promise.reject(new Error(`closed with ${code}`)));
  let [pictures, missed, size] = [0, 0, 0];
  let look = (): void => {};
  socket.on('message', (data) => {
    const message = JSON.parse(String(data));
    if (message.type === 'actors') pictures++;
    if (message.type === 'dropped') missed += message.count;
    size = Math.max(size, String(data).length);
    look();
  });
  const told = async (count: number): Promise<void> => {
    while (pictures + missed < count) await Promise.race([new Promise<void>((resolve) => (look = resolve)), over]);
  };
  await told(1);
  socket.pause();
  const asked = limits.socketTextsMax - 10;
  const other = await watch(t, house, '?id=none');
  await other.next();
  for (let count = 0; count < asked; count++) {
    await new Promise((resolve) => socket.send('{"type":"sync"}', resolve));
    // The server has received the bytes that another connection sent before by the second answer; then pictures are
    // given in order.
    for (let round = 0; round < 2; round++) await house.ask('/healthz');
    other.send({ type: 'sync' });
    await other.next();
  }
  socket.resume();
  // Actors that go to sleep meanwhile are reported, or counted, as well.
  await told(asked + 1);
  t.ok(missed > 0 && pictures > 1, `${pictures} of ${size} characters came, ${missed} were dropped`);
  const before = pictures;
  socket.send('{"type":"sync"}');
  while (pictures === before) await Promise.race([new Promise<void>((resolve) => (look = resolve)), over]);
  t.equal(pictures, before + 1, 'and what comes later is sent');
}

async function filtered(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { stream } = await begin(house, assistant.id);
  await stream.rest();
  const all = (await (await watch(t, house)).next()).actors as { kind: string; workspace_id: string }[];
  t.same([...new Set(all.map(({ kind }) => kind))].sort(), ['assistant', 'key', 'release', 'session', 'workspace']);
  t.equal((await (await watch(t, house, '?workspace=wks_00000000000000000000000000')).next()).actors.length, 0);
  const ours = (await (await watch(t, house, `?workspace=${house.workspaceId}&kind=assistant`)).next()).actors as {
    kind: string;
  }[];
  t.ok(ours.length > 0 && ours.every(({ kind }) => kind === 'assistant'));

  const assistants = await watch(t, house, `?kind=assistant&id=${assistant.id}`);
  await assistants.next();
  await (await begin(house, assistant.id)).stream.rest();
  await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/disable`, { method: 'POST' });
  const seen = await assistants.until('disable');
  t.ok(
    seen.every(({ actor }) => actor.id === assistant.id),
    'no event of another',
  );
  t.match(seen.at(-1), { from: 'published', to: 'disabled' });
  t.notMatch(JSON.stringify([all, seen]), new RegExp(`${house.key.slice(-20)}|${house.operatorToken}`));
}

async function changed(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const [one, other] = [await house.session(assistant.id), await house.session(assistant.id)];
  const watcher = await watch(t, house, `?kind=session&id=${one.id}`);
  await watcher.next();
  const idsUntilSync = async (): Promise<string[]> => {
    for (const { id } of [one, other]) await (await say(house, id)).rest();
    watcher.send({ type: 'sync' });
    const ids: string[] = [];
    for (let message = await watcher.next(); message.type !== 'actors'; message = await watcher.next())
      ids.push(message.actor.id);
    return [...new Set(ids)];
  };
  t.same(await idsUntilSync(), [one.id]);
  watcher.send({ type: 'watch', kind: 'session', id: other.id });
  t.same(await idsUntilSync(), [one.id, other.id], 'one more');
  watcher.send({ type: 'unwatch', id: one.id });
  t.same(await idsUntilSync(), [other.id], 'one less');
  for (const wrong of [
    '',
    '{',
    'null',
    '[]',
    '"watch"',
    { type: 'watch', kind: 'nothing' },
    { type: 'watch', id: 7 },
    { type: 'follow', id: one.id },
    new Uint8Array([1]),
  ])
    watcher.send(wrong);
  t.same(await idsUntilSync(), [other.id], 'what has no meaning is ignored');
  watcher.send({ type: 'watch', workspace: house.workspaceId, kind: 'session' });
  t.same(await idsUntilSync(), [one.id, other.id], 'all of a kind');
  watcher.send({ type: 'unwatch' });
  t.same(await idsUntilSync(), []);
  watcher.send({ type: 'watch', id: one.id });
  watcher.send({ type: 'sync' });
  t.match(await watcher.next(), {
    type: 'actors',
    at: Number,
    actors: [{ kind: 'session', id: one.id, workspace_id: house.workspaceId, state: 'open' }],
  });

  const everything = await watch(t, house);
  await everything.next();
  everything.send({ type: 'watch', kind: 'session', id: one.id });
  everything.send({ type: 'sync' });
  let picture;
  do picture = await everything.next();
  while (picture.type !== 'actors');
  t.same(
    picture.actors.map(({ id }: { id: string }) => id),
    [one.id],
    'the first that is asked for takes the place of all',
  );
}

async function caused(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id } = await house.session(assistant.id);
  const watcher = await watch(t, house, `?kind=session&id=${id}`);
  await watcher.next();
  const stream = await say(house, id);
  await stream.rest();
  const requestId = stream.headers.get('x-request-id');
  const by = { kind: 'key', id: /^key_/, name: 'test' };
  const [chat, finished] = (await watcher.until('finished')).filter(({ type }) => type === 'event');
  for (const event of [chat, finished])
    t.same(Object.keys(event), [
      'type',
      'seq',
      'at',
      'actor',
      'event',
      'from',
      'to',
      'context',
      'outcomes',
      'refused',
      'request_id',
      'by',
      'data',
    ]);
  t.match(chat, { seq: 2, at: Number, refused: false, request_id: requestId, by });
  t.match(finished, { seq: 3, refused: false, request_id: requestId, by });
  t.ok(chat.at > 1e12, 'in milliseconds');
  await end(house, id);
  const refusal = await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  t.match((await watcher.until('chat')).at(-1), {
    seq: 4,
    refused: true,
    request_id: refusal.json.request_id,
    by,
    from: 'ended',
    to: 'ended',
    outcomes: [{ type: 'refused', code: 'session_ended' }],
  });

  const assistants = await watch(t, house, `?kind=assistant&id=${assistant.id}`);
  await assistants.next();
  const disabled = await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/disable`, {
    method: 'POST',
  });
  t.match((await assistants.until('disable')).at(-1), {
    seq: 3,
    request_id: disabled.headers.get('x-request-id'),
    by: { kind: 'operator', id: 'operator', name: 'operator' },
  });
}

async function causedElsewhere(t: Test, house: House): Promise<void> {
  const assistant = await linked(house, 'caused', {
    channels: { voice: true, link: true },
    voice: { provider: 'synthetic' },
    limits: { messages_per_visitor_per_day: 2 },
  });
  const { id: sessionId } = await house.session(assistant.id);
  const watcher = await watch(t, house, `?workspace=${house.workspaceId}`);
  // The picture shows earlier events only as states.
  await watcher.next();
  const seen: any[] = [];
  const caused = async (kind: string, type: string): Promise<[string | null, string | undefined]> => {
    const fits = (each: any): boolean => each.actor?.kind === kind && each.event === type;
    while (!seen.some(fits)) seen.push(await watcher.next());
    const [found] = seen.splice(seen.findIndex(fits), 1);
    return [found.request_id, found.by?.id];
  };
  const visit = await Visit.to(house, 'caused');
  const session = await visit.session();
  const requestOf = ({ headers }: { headers: Headers }): string | null => headers.get('x-request-id');
  const accepted = await visit.say(session);
  t.same(
    [await caused('visitor', 'message'), await caused('visitor', 'sealed')],
    Array(2).fill([requestOf(accepted), visit.id]),
    'a turn that ends by itself has its chat',
  );
  const spoken = await visit.ask('/speech', { body: { session_id: session.id, text: 'Hello.' } });
  t.same(await caused('visitor', 'message'), [requestOf(spoken), visit.id]);
  const refused = await visit.say(session);
  t.same(await caused('visitor', 'message'), [requestOf(refused), visit.id], 'a refusal');
  const left = await visit.ask(`/sessions/${session.id}/end`, { method: 'POST' });
  t.same(await caused('visitor', 'left'), [requestOf(left), visit.id]);

  const stream = await say(house, sessionId);
  await stream.rest();
  t.match(await caused('workspace', 'release'), [requestOf(stream), /^key_/]);
  const talker = await talk(house, assistant.id, { sessionId });
  const opened = await caused('socket', 'open');
  t.match(opened, [/^req_/, /^key_/]);
  await end(house, sessionId);
  t.equal(await talker.closed, 1008);
  t.same(await caused('socket', 'session.ended'), [null, undefined], 'no message of the client');
  const other = await talk(house, assistant.id);
  const again = await caused('socket', 'open');
  other.send({ type: 'finish' });
  t.same([await caused('socket', 'finish'), await caused('socket', 'done')], [again, again], 'the upgrade of its own');
  t.not(again[0], opened[0]);
}

async function stately(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id } = await house.session(assistant.id);
  await (await say(house, id)).rest();
  const watcher = await watch(t, house, `?kind=session&id=${id}&format=stately`);
  const seen = [await watcher.next()];
  const stream = await say(house, id);
  await stream.rest();
  const base = { sessionId: id, rootId: house.workspaceId, createdAt: /^\d{13}$/, id: null, _version: /^0\.7/ };
  for (let count = 0; count < 4; count++) seen.push(await watcher.next());
  t.match(seen, [
    {
      type: '@xstate.actor',
      ...base,
      name: 'session',
      parentId: house.workspaceId,
      definition: String,
      snapshot: { status: 'active', value: 'open', context: { activeTurnId: null } },
    },
    { type: '@xstate.event', ...base, event: { type: 'chat', turnId: stream.turnId } },
    {
      type: '@xstate.snapshot',
      ...base,
      event: { type: 'chat' },
      snapshot: { status: 'active', value: 'streaming', context: { activeTurnId: stream.turnId } },
    },
    { type: '@xstate.event', ...base, event: { type: 'finished' } },
    { type: '@xstate.snapshot', ...base, event: { type: 'finished' }, snapshot: { status: 'active', value: 'open' } },
  ]);
  const { json } = await house.console('/machines/session');
  t.same(JSON.parse(seen[0].definition), json, 'the definition is the machine that runs');
  await end(house, id);
  await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  let refused;
  do refused = await watcher.next();
  while (refused.event.refused === undefined);
  t.match(refused, { type: '@xstate.event', event: { type: 'chat', refused: 'session_ended' } });
}
