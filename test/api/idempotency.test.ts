/** `Idempotency-Key` on `POST /sessions` and on chat (contract 6). */
import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { idempotencyOf } from '../../src/conversation/idempotency.ts';
import type { Principal } from '../../src/conversation/principal.ts';
import { openHouse, openWorkspace, textOf, type House } from './house.ts';
import {
  abort,
  activeTurn,
  chatPath,
  end,
  onProvider,
  answered,
  refused,
  say,
  sayInVain,
  synthetic,
  transcriptOf,
} from './talk.ts';

const once = (key: string) => ({ headers: { 'idempotency-key': key } });
const replayed = 'idempotent-replayed';

t.test('a repeated request is carried out once', async (t) => {
  const house = await openWorkspace();
  await t.test('a repeated creation returns the first session', (t) => sessions(t, house));
  await t.test('a finished turn is joined from its beginning', (t) => chatAgain(t, house));
  await t.test('a turn in flight is joined live', (t) => joined(t, house));
  await t.test('each failure is retried at the next read', (t) => failures(t, house));
  await t.test('a repeat is answered whatever became of the assistant and the session', (t) =>
    whateverBecame(t, house),
  );
  await t.test('a repeat needs the permission of its key', (t) => restrictedSince(t, house));
  await t.test('a repeat is answered in a full workspace', (t) => fullWorkspace(t, house));
  await t.test('the header has bounds', (t) => bounds(t, house));
});

async function sessions(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1');
  const body = { assistant_id: assistant.id, metadata: { a: '1', b: '2' } };
  const create = (key: string, given: unknown = body, with_?: string) =>
    house.ask('/sessions', { body: given, ...once(key), ...(with_ ? { key: with_ } : {}) });
  const first = await create('s-1');
  t.equal(first.status, 201);
  t.equal(first.headers.get(replayed), null);
  const again = await create('s-1');
  t.same([again.status, again.headers.get(replayed), again.json], [201, 'true', first.json]);
  t.equal(again.headers.get('location'), `/sessions/${first.json.id}`);
  const reordered = await create('s-1', `{ "metadata":{"b":"2","a":"1"},\n"assistant_id":"${assistant.id}" }`);
  t.equal(reordered.json.id, first.json.id, 'bodies are compared as parsed JSON');
  refused(t, await create('s-1', { ...body, metadata: { a: '1' } }), 422, 'invalid_request');
  refused(t, await create('s-1', { ...body, extra: 1 }), 422, 'invalid_request');
  refused(t, await create('s-1', { ...body, assistant_id: 'asst_none' }), 422, 'invalid_request');
  t.not((await create('s-2')).json.id, first.json.id);
  const deep = (inner: string) =>
    `{"assistant_id":"${assistant.id}","x":${'[{"b":'.repeat(10_000)}${inner}${',"a":2}]'.repeat(10_000)}}`;
  const nested = await create('s-deep', deep('1'));
  t.match(await create('s-deep', deep(' 1.0')), { status: 201, json: { id: nested.json.id } }, 'however deeply nested');
  refused(t, await create('s-deep', deep('3')), 422, 'invalid_request');
  const other = await house.newKey();
  t.not((await create('s-1', body, other.key)).json.id, first.json.id, 'another API key, another memory');

  const race = await Promise.all(Array.from({ length: 8 }, () => create('s-3')));
  t.equal(new Set(race.map(({ json }) => json.id)).size, 1, 'sent at once they make one');
  t.equal(race.filter(({ headers }) => headers.get(replayed) === 'true').length, 7);
  const listed = (await house.ask(`/sessions?assistant_id=${assistant.id}&limit=100`)).json.data;
  t.equal(listed.length, 5);

  await end(house, first.json.id);
  t.match((await create('s-1')).json, { id: first.json.id, status: 'ended' }, 'the session as it is now');
  await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/disable`, { method: 'POST' });
  t.equal((await create('s-1')).status, 201, 'what was made stays made');
  refused(t, await create('s-4'), 409, 'assistant_disabled');
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}`;
  await house.revise(assistant.id, {
    visitor_fields: [{ name: 'email', label: 'Email', type: 'email', required: true }],
  });
  t.equal((await create('s-1')).json.id, first.json.id, 'though it would not be made today');
  refused(t, await create('s-5'), 422, 'missing_visitor_fields');
  t.equal((await house.console(path, { method: 'DELETE' })).status, 204);
  t.equal((await create('s-1')).json.id, first.json.id);
  refused(t, await create('s-6'), 404, 'assistant_not_found');
}

async function chatAgain(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=5,unicode=1');
  const { id } = await house.session(assistant.id);
  const first = await say(house, id, 'Hello', once('c-1'));
  const events = await first.rest();
  const again = await say(house, id, 'Hello', once('c-1'));
  t.equal(again.headers.get(replayed), 'true');
  t.equal(again.turnId, first.turnId);
  const replay = await again.rest();
  t.same([replay[0], textOf(replay), replay.at(-1)], [events[0], textOf(events), events.at(-1)]);
  refused(t, await house.ask(chatPath(id), { body: { message: 'Bye' }, ...once('c-1') }), 422, 'invalid_request');
  t.equal((await transcriptOf(house, id)).length, 2, 'the message was sent once');

  const other = await house.session(assistant.id);
  const elsewhere = await say(house, other.id, 'Bye', once('c-1'));
  t.equal(elsewhere.headers.get(replayed), null, 'another path, another memory');
  await elsewhere.rest();
  await (await say(house, id, 'Hello')).rest();
  t.equal((await transcriptOf(house, id)).length, 4, 'without the header a retry sends it twice');
  await end(house, id);
  t.equal((await say(house, id, 'Hello', once('c-1'))).turnId, first.turnId, 'on an ended session too');
}

async function joined(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=4,hang_at=2,text=so')).id);
  const streams = await Promise.all([1, 2, 3].map(() => say(house, id, 'Hello', once('j-1'))));
  t.equal(new Set(streams.map(({ turnId }) => turnId)).size, 1);
  t.equal(streams.filter(({ headers }) => headers.get(replayed) === 'true').length, 2);
  for (const stream of streams) {
    t.equal((await stream.next())!.event, 'turn.started');
    t.equal((await stream.next())!.data.text, 'so so ');
  }
  refused(t, await house.ask(chatPath(id), { body: { message: 'Hello' }, ...once('j-2') }), 409, 'turn_in_progress');
  await abort(house, id, streams[0]!.turnId);
  for (const stream of streams)
    t.same(
      (await stream.rest()).map(({ event }) => event),
      ['turn.aborted'],
    );
  t.equal((await transcriptOf(house, id)).length, 2);

  const silent = await house.session((await synthetic(house, 'tokens=4,first_ms=600000')).id);
  const waiting = [say(house, silent.id, 'Hello', once('j-3')), say(house, silent.id, 'Hello', once('j-3'))];
  await abort(house, silent.id, await activeTurn(house, silent.id));
  for (const stream of await Promise.all(waiting))
    t.same(
      (await stream.rest()).map(({ event }) => event),
      ['turn.started', 'turn.aborted'],
    );
}

async function failures(t: Test, house: House): Promise<void> {
  let broken = true;
  const { assistant, provider } = await onProvider(t, house, (response) =>
    broken ? response.writeHead(500).end() : answered(response, ['ok']),
  );
  const { id } = await house.session(assistant.id);
  const send = () => house.ask(chatPath(id), { body: { message: 'Hello' }, ...once('f-1') });
  const both = await Promise.all([send(), send()]);
  for (const answer of both) refused(t, answer, 503, 'assistant_unavailable');
  const before = provider.requests.length;
  broken = false;
  const stream = await say(house, id, 'Hello', once('f-1'));
  t.equal(stream.headers.get(replayed), null);
  t.equal(textOf(await stream.rest()), 'ok');
  t.equal(provider.requests.length, before + 1);
  refused(
    t,
    await house.ask('/sessions', { body: { assistant_id: 'asst_00000000000000000000000000' }, ...once('f-2') }),
    404,
    'assistant_not_found',
  );
  t.equal((await house.ask('/sessions', { body: { assistant_id: assistant.id }, ...once('f-2') })).status, 201);
}

/** Changes between a request and its retry, and the answer to a new request after each. */
async function whateverBecame(t: Test, house: House): Promise<void> {
  const moves = (id: string, verb: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}/${verb}`, { method: 'POST' });
  const changes: [string, (assistantId: string, sessionId: string) => Promise<unknown>, number, string][] = [
    ['disabled', (id) => moves(id, 'disable'), 409, 'assistant_disabled'],
    ['unpublished', (id) => moves(id, 'unpublish'), 409, 'assistant_not_published'],
    ['ended', (_, id) => end(house, id), 409, 'session_ended'],
    ['ended and deleted', (id, session) => end(house, session).then(() => remove(id)), 404, 'assistant_not_found'],
    ['deleted', (id) => remove(id), 404, 'assistant_not_found'],
  ];
  const remove = (id: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}`, { method: 'DELETE' });
  for (const [what, change, status, code] of changes) {
    const assistant = await synthetic(house, 'tokens=3');
    const create = () => house.ask('/sessions', { body: { assistant_id: assistant.id }, ...once(`w-${what}`) });
    const { id } = (await create()).json;
    const first = await say(house, id, 'Hello', once('w'));
    const events = await first.rest();
    t.equal(events.at(-1)!.event, 'turn.completed');
    await change(assistant.id, id);
    const again = await say(house, id, 'Hello', once('w'));
    t.same([again.headers.get(replayed), again.turnId], ['true', first.turnId], `the assistant or session is ${what}`);
    const replay = await again.rest();
    t.same([textOf(replay), replay.at(-1)], [textOf(events), events.at(-1)]);
    const repeat = await create();
    t.same([repeat.status, repeat.headers.get(replayed), repeat.json.id], [201, 'true', id]);
    refused(t, await sayInVain(house, id), status, code);
    refused(t, await sayInVain(house, id, 'Hello', once('w-other')), status, code);
    refused(t, await sayInVain(house, id, 'Bye', once('w')), 422, 'invalid_request');
    t.equal((await transcriptOf(house, id)).length, 2, 'nothing was sent twice');
  }
}

async function restrictedSince(t: Test, house: House): Promise<void> {
  const [assistant, other] = [await synthetic(house, 'tokens=1'), await synthetic(house, 'tokens=1')];
  const { id: keyId, key } = await house.newKey();
  const create = () => house.ask('/sessions', { key, body: { assistant_id: assistant.id }, ...once('p') });
  const { id } = (await create()).json;
  const chat = () => house.ask(chatPath(id), { key, body: { message: 'Hello' }, ...once('p') });
  t.equal((await chat()).status, 200);
  const restrict = (assistantIds: string[] | null) =>
    house.console(`/workspaces/${house.workspaceId}/keys/${keyId}`, {
      method: 'PATCH',
      body: { assistant_ids: assistantIds },
    });
  t.equal((await restrict([other.id])).status, 200);
  // The key may read the session no more, so it may not read it by a repeat.
  for (const repeat of [await create(), await chat()]) refused(t, repeat, 403, 'assistant_not_permitted');
  t.equal((await restrict([assistant.id, other.id])).status, 200);
  for (const repeat of [await create(), await chat()]) t.equal(repeat.headers.get(replayed), 'true');
}

async function fullWorkspace(t: Test, house: House): Promise<void> {
  const { id } = await house.session((await synthetic(house, 'tokens=1')).id);
  const first = await say(house, id, 'Hello', once('l'));
  await first.rest();
  const hanging = await house.session((await synthetic(house, 'tokens=3,hang_at=1')).id);
  const busy = await say(house, hanging.id);
  const slots = (count: number) =>
    house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: count } });
  await slots(1);
  refused(t, await sayInVain(house, id), 429, 'rate_limited');
  t.equal((await say(house, id, 'Hello', once('l'))).turnId, first.turnId);
  await slots(10);
  await end(house, hanging.id);
  await busy.rest();
}

async function bounds(t: Test, house: House): Promise<void> {
  const body = { assistant_id: (await synthetic(house, 'tokens=1')).id };
  for (const key of ['x'.repeat(256), 'é', 'a\tb', '']) {
    refused(t, await house.ask('/sessions', { body, ...once(key) }), 400, 'invalid_request');
  }
  for (const key of ['x'.repeat(255), 'a b', '~!"'])
    t.equal((await house.ask('/sessions', { body, ...once(key) })).status, 201);
}

/** A body that counts how often its members are read. */
function watched(body: object): { readonly json: object; readonly reads: () => number } {
  let reads = 0;
  const json = new Proxy(body, {
    get: (target, name) => (reads++, Reflect.get(target, name)),
    ownKeys: (target) => (reads++, Reflect.ownKeys(target)),
  });
  return { json, reads: () => reads };
}

const principal = { id: 'key_a' } as Principal;
const digestOf = (json: unknown): string =>
  idempotencyOf({ idempotencyKey: 'a', json }, principal, '/sessions')!.bodyDigest;

t.test('a body is looked at once the digest is needed, and once', (t) => {
  const { json, reads } = watched({ message: 'Hello', list: [1, 2] });
  const record = idempotencyOf({ idempotencyKey: 'a', json }, principal, '/sessions')!;
  t.same([record.scope, record.key, reads()], ['key_a /sessions', 'a', 0], 'a refusal costs no digest');
  const stored = { ...record };
  const after = reads();
  t.ok(after > 0);
  t.equal(stored.bodyDigest, record.bodyDigest);
  t.equal(reads(), after);
  t.end();
});

t.test('bodies are compared as parsed JSON, and digests outlive a version', (t) => {
  t.equal(
    digestOf(JSON.parse('{"b":1,"a":[1,{"d":null,"c":"é"}],"":{}}')),
    digestOf(JSON.parse(' { "": {}, "a": [1.0, {"c": "\\u00e9", "d": null}], "b": 1 }')),
  );
  t.equal(digestOf(JSON.parse('{"b":1,"a":[true,{"d":null,"c":"é"}]}')), 'Msg6SMMlzRLVrnTaRMjizyajR8EGWPmUspvXIviQiUo');
  const bodies = [
    '{}',
    '[]',
    'null',
    '[[]]',
    '[{}]',
    '{"a":{}}',
    '{"a":[]}',
    '{"a":null}',
    '{"a":"null"}',
    '[1,[2]]',
    '[[1],2]',
    '[1,2]',
    '{"a":1,"b":2}',
    '{"a":2,"b":1}',
    '{"__proto__":1}',
    '"a"',
    '{"a":"1"}',
    '{"a":1}',
    '[12]',
    '["1,2"]',
  ];
  t.equal(new Set(bodies.map((body) => digestOf(JSON.parse(body)))).size, bodies.length, 'others have others');
  const deep = '['.repeat(60_000) + ']'.repeat(60_000);
  t.equal(digestOf(JSON.parse(deep)).length, 43, 'however deep');
  t.end();
});

t.test('a refusal with the header costs about what it does without', async (t) => {
  const house = await openHouse(t);
  const body = `{"message":"Hello","more":[${'1,'.repeat(120_000)}1]}`;
  const cpuOf = async (headers: Record<string, string>): Promise<number> => {
    const before = cpuTicks(house.child.pid!);
    for (let time = 0; time < 20; time++)
      t.equal(
        (await house.ask('/sessions/ses_none/chat', { body, headers: { ...headers } })).json.error.code,
        'session_not_found',
      );
    return cpuTicks(house.child.pid!) - before;
  };
  await cpuOf({});
  const without = await cpuOf({});
  const withKey = await cpuOf({ 'idempotency-key': 'a' });
  t.ok(withKey <= 4 * without + 20, `${withKey} against ${without} hundredths of a second`);
});

/** CPU time of a process in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) /s, '')
    .split(' ');
  return Number(fields[11]) + Number(fields[12]);
}
