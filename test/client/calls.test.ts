/** Every call at the real server, over the built package. */
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type * as client from '../../src/client/index.ts';
import { openHouse } from '../api/house.ts';
import { synthetic } from '../api/talk.ts';

const { Parley, ParleyError } = (await import(
  fileURLToPath(new URL('../../dist/client/index.js', import.meta.url))
)) as typeof client;
const house = await openHouse(t);
const parley = new Parley({ url: `${house.url}/`, key: house.key, headers: { 'x-own': 'yes' } });
const { id: assistant_id } = await synthetic(house, 'tokens=5');

t.test('sessions and turns are created, read and listed', async (t) => {
  const session = await parley.sessions.create({ assistant_id, visitor: { name: 'Ada' }, metadata: { plan: 'pro' } });
  t.match(session, { object: 'session', status: 'open', visitor: { name: 'Ada' }, metadata: { plan: 'pro' } });
  const turn = await parley.sessions.chat(session.id, 'Hello');
  t.match([turn.id, turn.requestId, turn.cursor], [/^turn_/, /^req_/, null]);
  const events: client.TurnEvent[] = [];
  for await (const event of turn) events.push(event);
  const text = await turn.text();
  t.match(events[0], { type: 'turn.started', turn_id: turn.id });
  t.match(events.at(-1), { type: 'turn.completed', stop_reason: 'end', usage: { output_tokens: 5 } });
  t.equal(turn.cursor, [...text].length);
  t.equal(await parley.turns.resume(session.id, turn.id, { after: 3 }).text(), [...text].slice(3).join(''));
  t.equal(await parley.turns.resume(session.id, turn.id).text(), text);
  t.match(await parley.sessions.get(session.id), { id: session.id });
  t.match(await parley.sessions.end(session.id), { status: 'ended' });
  await t.rejects(parley.sessions.chat(session.id, 'Hello'), {
    code: 'session_ended',
    status: 409,
    type: 'conflict',
    retryable: false,
  });
  await t.rejects(parley.turns.resume(session.id, turn.id, { after: 99_999 }).text(), {
    code: 'invalid_request',
    status: 422,
    field: 'after',
  });
});

t.test('another request than that which began a turn aborts it', async (t) => {
  const slow = await synthetic(house, 'tokens=500,delay_ms=20');
  const session = await parley.sessions.create({ assistant_id: slow.id });
  const turn = await parley.sessions.chat(session.id, 'Hello');
  const types: string[] = [];
  let record: client.TurnRecord | undefined;
  for await (const { type } of turn) {
    types.push(type);
    if (type === 'message.delta')
      record ??= await new Parley({ url: house.url, key: house.key }).turns.abort(session.id, turn.id);
  }
  t.match(record, { object: 'turn', id: turn.id, stop_reason: 'aborted' });
  t.match(types.at(-1), 'turn.aborted');
  t.match(
    await parley.turns.abort(session.id, turn.id),
    { id: turn.id, stop_reason: 'aborted' },
    'one that has ended stays as it is',
  );
  await t.rejects(parley.turns.abort(session.id, 'turn_none'), { code: 'turn_not_found' });
  await t.rejects(parley.turns.abort(session.id, turn.id, { signal: AbortSignal.abort(new Error('enough')) }), {
    message: 'enough',
  });
});

t.test('a call and its idempotency key', async (t) => {
  const [first, second] = [
    await parley.sessions.create({ assistant_id }, { idempotencyKey: 'k' }),
    await parley.sessions.create({ assistant_id }, { idempotencyKey: 'k' }),
  ];
  t.equal(first.id, second.id);
  const { id } = first;
  const [one, two] = [
    await parley.sessions.chat(id, 'Hi', { idempotencyKey: 'k' }),
    await parley.sessions.chat(id, 'Hi', { idempotencyKey: 'k' }),
  ];
  t.equal(one.id, two.id);
  t.equal(await one.text(), await two.text());
});

t.test('lists: items over all pages, one page, all at once', async (t) => {
  const { id } = await synthetic(house, 'tokens=1');
  const made: string[] = [];
  for (let count = 0; count < 5; count++) made.unshift((await parley.sessions.create({ assistant_id: id })).id);
  const list = parley.sessions.list({ assistant_id: id, limit: 2 });
  const seen: string[] = [];
  for await (const session of list) seen.push(session.id);
  t.same(seen, made);
  const first = await list.page();
  t.match(first, { object: 'list', has_more: true });
  t.same(
    first.data.map((session) => session.id),
    made.slice(0, 2),
  );
  const second = await list.page({ after: first.next_cursor! });
  t.same(
    second.data.map((session) => session.id),
    made.slice(2, 4),
  );
  t.same((await list.all()).length, 5);
  t.same((await parley.sessions.list({ assistant_id: id, status: 'ended' }).all()).length, 0);
  t.ok((await parley.assistants.list().all()).some((one) => one.id === id));
  t.match(await parley.assistants.get(id), { id, object: 'assistant' });
  await (await parley.sessions.chat(made[0]!, 'Hello')).text();
  t.match(await parley.sessions.transcript(made[0]!).all(), [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', status: 'completed' },
  ]);
  t.match((await parley.sessions.transcript(made[0]!, { order: 'desc' }).page({ limit: 1 })).data, [
    { role: 'assistant' },
  ]);
  await t.rejects(parley.sessions.transcript('ses_none').all(), { code: 'session_not_found' });
});

t.test('usage of an hour is read', async (t) => {
  const usage = await parley.usage({ start: 0, end: 3600, bucket: 'hour' });
  t.match(usage, { object: 'usage', start: 0, end: 3600, bucket: 'hour', data: [{ start: 0, turns: 0 }] });
  t.ok((await parley.usage()).totals.turns > 0);
  await t.rejects(parley.usage({ start: 10, end: 5 }), { code: 'invalid_range', status: 422 });
});

t.test('options of a call stand last, or among the parameters of a list', async (t) => {
  const signal = AbortSignal.abort(new Error('enough'));
  const enough = { message: 'enough' };
  const last = { signal, timeoutMs: 1000 };
  await t.rejects(parley.assistants.list({}, last).all(), enough);
  await t.rejects(parley.assistants.list(last).page(), enough);
  await t.rejects(parley.assistants.list().page({}, last), enough);
  await t.rejects(parley.assistants.list().all(last), enough);
  await t.rejects(parley.assistants.get('asst_1', last), enough);
  await t.rejects(parley.sessions.create({ assistant_id }, last), enough);
  await t.rejects(parley.sessions.transcript('ses_1', last).all(), enough);
  await t.rejects(parley.sessions.end('ses_1', last), enough);
  await t.rejects(parley.sessions.chat('ses_1', 'Hello', last), enough);
  await t.rejects(parley.turns.resume('ses_1', 'turn_1', last).text(), enough);
  await t.rejects(parley.turns.resume('ses_1', 'turn_1').abort(last), enough);
  await t.rejects(parley.usage({ bucket: 'day' }, last), enough);
});

t.test('a wrong key rejects with its error code', async (t) => {
  const error = await new Parley({ url: house.url, key: 'ak_wrong' }).sessions
    .get('ses_1')
    .catch((thrown: unknown) => thrown);
  t.ok(error instanceof ParleyError);
  t.match(error, { code: 'invalid_api_key', type: 'authentication_error', status: 401, requestId: /^req_/ });
  await t.rejects(new Parley({ url: house.url }).sessions.get('ses_1'), { code: 'missing_api_key' });
  t.throws(() => new Parley({ url: 'chat.example.com' }), TypeError);
  for (const [name, value] of [
    ['window', { document: {} }],
    ['importScripts', () => {}],
  ] as const) {
    Object.assign(globalThis, { [name]: value });
    t.throws(() => new Parley({ url: house.url, key: 'ak_1' }), /allowKeyInBrowser/, name);
    t.ok(new Parley({ url: house.url, key: 'ak_1', allowKeyInBrowser: true }));
    t.ok(new Parley({ url: house.url }));
    Reflect.deleteProperty(globalThis, name);
  }
});
