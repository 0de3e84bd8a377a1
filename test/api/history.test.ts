/** `…/history`: what moved sessions, keys and assistants (contract 9). */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { nobody } from '../../src/actors/cause.ts';
import { moveOf } from '../../src/actors/history.ts';
import { limits } from '../../src/base/limits.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import { edges, openHouse, type House } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { begin, end, say, synthetic } from './talk.ts';

t.test('the history of each actor lists its steps', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_EDGE: edges[0]! } });
  await t.test("a session's history lists its steps", (t) => ofSession(t, house));
  await t.test("a turn's history lists its steps", (t) => ofTurn(t, house));
  await t.test("a key's history lists its steps", (t) => ofKey(t, house));
  await t.test("an assistant's history lists its steps", (t) => ofAssistant(t, house));
  await t.test('a history is read page by page', (t) => paged(t, house));
  await t.test('the history of an unknown actor is 404', (t) => absent(t, house));
});

t.test('after a restart, and of a long life', async (t) => {
  const env = { PARLEY_STORE: 'lmdb:./data' };
  const first = await openHouse(t, { embedded: true, env });
  const assistant = await synthetic(first, 'tokens=2');
  const { id } = await first.session(assistant.id);
  await (await say(first, id)).rest();
  await first.kill('SIGKILL');
  await moveOften(first, assistant.id, 1_300);
  const second = await openHouse(t, { embedded: true, env, folder: first.folder });
  t.match(
    (await history(second, 'sessions', id)).data.map(({ event }: any) => event),
    ['create', 'chat', 'finished'],
  );

  const all: any[] = [];
  for (let after = ''; after !== '&after=null';) {
    const page = await history(second, 'assistants', assistant.id, `limit=100${after}`);
    all.push(...page.data);
    after = `&after=${page.next_cursor}`;
  }
  t.same(
    all.map(({ seq }) => seq),
    Array.from({ length: limits.historyKept }, (_, index) => 1_302 - index),
    'the newest thousand, newest first',
  );
  t.same(
    all.filter(({ context, seq }) => context?.voice !== (seq % 2 === 0)),
    [],
    'each with its context',
  );
});

/** Stores a history as so many changes in the console would have left it. */
async function moveOften({ folder, workspaceId }: House, id: string, times: number): Promise<void> {
  const store = lmdbStore(join(folder, 'data'));
  await store.open(Date.now());
  const { record, version } = (await store.catalog.read('assistant', workspaceId, id))!;
  const steps = Array.from({ length: times }, (_, index) => version + index);
  await Promise.all(
    steps.map((before) => {
      const voice = (before + 1) % 2 === 0;
      const machine = { ...record.machine, context: { voice } };
      const event = { type: 'configure', voice } as { type: string };
      return store.catalog.replace(
        'assistant',
        { ...record, machine },
        before,
        moveOf({ event, from: 'published', to: 'published', outcomes: [] }, before + 1, Date.now(), nobody, machine),
      );
    }),
  );
  await store.close();
}

const fields = [
  'seq',
  'at',
  'event',
  'from',
  'to',
  'outcomes',
  'refused',
  'request_id',
  'by',
  'count',
  'data',
  'context',
  'version',
];

async function history(house: House, kind: string, id: string, query = 'order=asc'): Promise<any> {
  const { status, text, json } = await house.console(`/workspaces/${house.workspaceId}/${kind}/${id}/history?${query}`);
  if (status !== 200) throw new Error(text);
  return json;
}

const brief = (items: any[]): string[] =>
  items.map(
    ({ seq, event, from, to, refused, count }) =>
      `${seq} ${event} ${from} → ${to}${refused ? ` refused ×${count}` : ''}`,
  );

async function ofSession(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id } = await house.session(assistant.id);
  const slow = await synthetic(house, 'tokens=50,delay_ms=2000');
  const stream = await say(house, id);
  await stream.rest();
  const requestId = stream.headers.get('x-request-id');
  await end(house, id);
  const refused = [];
  for (let each = 0; each < 3; each++)
    refused.push(await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } }));
  const { object, data, has_more: more } = await history(house, 'sessions', id);
  t.same([object, more], ['list', false]);
  t.same(brief(data), [
    '1 create null → open',
    '2 chat open → streaming',
    '3 finished streaming → open',
    '4 end open → ended',
    '4 chat ended → ended refused ×3',
  ]);
  for (const item of data) t.same(Object.keys(item), fields);
  const by = { kind: 'key', id: /^key_/, name: 'test' };
  t.match(data[1], {
    request_id: requestId,
    by,
    outcomes: [{ type: 'turn.begun', turnId: stream.turnId }],
    data: { type: 'chat', turnId: stream.turnId, at: Number },
    context: { activeTurnId: stream.turnId },
  });
  t.match(
    data[2],
    { request_id: requestId, by, context: { activeTurnId: null, endedAt: null } },
    'a turn that ends by itself has the cause of its chat',
  );
  t.match(data[4], {
    request_id: refused.at(-1)!.json.request_id,
    by,
    outcomes: [{ type: 'refused', code: 'session_ended' }],
    data: null,
    context: { endedAt: Number },
  });
  t.ok(
    data.every(({ at }: any) => at < 1e11),
    'in seconds',
  );
  t.same(brief((await history(house, 'sessions', id, 'order=asc&refused=true')).data), [
    '4 chat ended → ended refused ×3',
  ]);
  t.same((await history(house, 'sessions', id, '')).data, [...data].reverse(), 'newest first by default');

  const { id: other, stream: aborted } = await begin(house, slow.id);
  const abort = await house.ask(`/sessions/${other}/turns/${aborted.turnId}/abort`, { method: 'POST' });
  await aborted.rest();
  const last = (await history(house, 'sessions', other, 'limit=1')).data[0];
  t.match(
    last,
    { event: 'finished', request_id: abort.headers.get('x-request-id'), by },
    'one that was aborted has that of the abort',
  );
}

async function ofTurn(t: Test, house: House): Promise<void> {
  const stepsOf = (session: string, turn: string): Promise<any> => history(house, `sessions/${session}/turns`, turn);
  const assistant = await synthetic(house, 'tokens=2,delay_ms=50');
  const { id } = await house.session(assistant.id);
  const stream = await say(house, id);
  await stream.rest();
  const { data } = await stepsOf(id, stream.turnId);
  t.same(brief(data), [
    '1 output waiting → starting',
    '2 stored starting → answering',
    '3 ended answering → sealing',
    '4 sealed sealing → completed',
  ]);
  for (const item of data) t.same(Object.keys(item), fields);
  const by = { kind: 'key', id: /^key_/, name: 'test' };
  const requestId = stream.headers.get('x-request-id');
  t.same(
    data.filter((item: any) => item.request_id !== requestId),
    [],
    'all of them are caused by the chat',
  );
  t.match(data[2], {
    by,
    outcomes: [{ type: 'seal', reason: 'completed' }],
    data: { type: 'ended', at: Number },
    context: { begun: true, ending: 'completed' },
  });
  t.same(
    (await history(house, `sessions/${id}/turns`, stream.turnId, 'limit=2')).data,
    data.slice(2).reverse(),
    'by pages as well',
  );

  const slow = await synthetic(house, 'tokens=50,delay_ms=2000');
  const { id: other, stream: aborted } = await begin(house, slow.id);
  t.same(
    brief((await stepsOf(other, aborted.turnId)).data),
    ['1 output waiting → starting', '2 stored starting → answering'],
    'of one in flight, so far',
  );
  const abort = await house.ask(`/sessions/${other}/turns/${aborted.turnId}/abort`, { method: 'POST' });
  await aborted.rest();
  const steps = (await stepsOf(other, aborted.turnId)).data;
  t.same(brief(steps.slice(2)), ['3 stop answering → sealing', '4 sealed sealing → aborted']);
  const abortId = abort.headers.get('x-request-id');
  t.same(
    steps.map((item: any) => item.request_id === abortId),
    [false, false, true, true],
    'from its abort on the abort is the cause',
  );

  const gone = await synthetic(house, 'tokens=1,fail_at=0');
  const { id: failed } = await house.session(gone.id);
  t.equal((await house.ask(`/sessions/${failed}/chat`, { body: { message: 'Hello' } })).status, 503);
  const [, , end] = (await history(house, 'sessions', failed)).data;
  t.same(
    brief((await stepsOf(failed, end.data.turnId)).data),
    ['1 failed waiting → withdrawing', '2 withdrawn withdrawing → withdrawn'],
    'also of one that left nothing else behind',
  );

  const nobody = '0'.repeat(26);
  const path = `/workspaces/${house.workspaceId}/sessions`;
  isRefused(t, await house.console(`${path}/${id}/turns/turn_${nobody}/history`), unrated(refusals.noTurn));
  isRefused(
    t,
    await house.console(`${path}/${id}/turns/${aborted.turnId}/history`),
    unrated(refusals.noTurn),
    "another session's",
  );
  isRefused(
    t,
    await house.console(`${path}/ses_${nobody}/turns/${stream.turnId}/history`),
    unrated(refusals.noSession),
  );
}

async function ofKey(t: Test, house: House): Promise<void> {
  const made = await house.newKey({ limits: { requests: 1 } });
  for (let each = 0; each < 3; each++) await house.ask('/assistants', { key: made.key });
  const path = `/workspaces/${house.workspaceId}/keys/${made.id}`;
  await house.console(path, { method: 'PATCH', body: { name: 'renamed' } });
  await house.console(`${path}/revoke`, { method: 'POST' });
  const refused = await house.ask('/assistants', { key: made.key });
  const { data } = await history(house, 'keys', made.id);
  t.same(brief(data), [
    '1 create null → active',
    '1 request active → limited refused ×1',
    '1 request limited → limited refused ×1',
    '2 configure active → active',
    '3 revoke active → revoked',
    '3 request revoked → revoked refused ×1',
  ]);
  t.match(data[0], {
    request_id: /^req_/,
    by: { kind: 'operator', id: 'operator', name: 'operator' },
    context: { revokedAt: null },
  });
  t.match(data[1], {
    by: { kind: 'key', id: made.id, name: 'test' },
    outcomes: [{ type: 'key.limited' }, { code: 'rate_limited' }],
  });
  t.match(data[5], {
    request_id: refused.json.request_id,
    outcomes: [{ code: 'revoked_api_key' }],
    context: { revokedAt: Number },
  });
  t.equal(JSON.stringify(data).includes(made.key), false);
}

async function ofAssistant(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/disable`, { method: 'POST' });
  for (let each = 0; each < 2; each++) await house.ask('/sessions', { body: { assistant_id: assistant.id } });
  t.same(brief((await history(house, 'assistants', assistant.id)).data), [
    '1 create null → draft',
    '2 publish draft → published',
    '3 disable published → disabled',
    '3 converse disabled → disabled refused ×2',
  ]);
}

async function paged(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=2');
  const { id } = await house.session(assistant.id);
  for (let each = 0; each < 3; each++) await (await say(house, id)).rest();
  await end(house, id);
  for (const message of ['Hello', '']) await house.ask(`/sessions/${id}/chat`, { body: { message } });
  for (const order of ['asc', 'desc']) {
    const whole = (await history(house, 'sessions', id, `order=${order}&limit=100`)).data;
    t.equal(whole.length, 9);
    const seen = [];
    for (let after = '', more = true; more;) {
      const page = await history(house, 'sessions', id, `order=${order}&limit=2${after}`);
      t.ok(page.data.length <= 2);
      seen.push(...page.data);
      after = `&after=${page.next_cursor}`;
      more = page.has_more;
      t.equal(page.next_cursor === null, !more);
    }
    t.same(seen, whole, order);
  }
  for (const [query, field] of [
    ['limit=0', 'limit'],
    ['order=up', 'order'],
    ['after=x', 'after'],
    ['refused=perhaps', 'refused'],
  ] as const) {
    isRefused(
      t,
      await house.console(`/workspaces/${house.workspaceId}/sessions/${id}/history?${query}`),
      unrated(wrongField(field)),
      query,
    );
  }
}

async function absent(t: Test, house: House): Promise<void> {
  const nobody = '0'.repeat(26);
  for (const [path, refusal] of [
    [`${house.workspaceId}/sessions/ses_${nobody}`, refusals.noSession],
    [`${house.workspaceId}/keys/key_${nobody}`, refusals.noRoute],
    [`${house.workspaceId}/assistants/asst_${nobody}`, refusals.noAssistant],
    [`wks_${nobody}/sessions/ses_${nobody}`, refusals.noRoute],
  ] as const) {
    isRefused(t, await house.console(`/workspaces/${path}/history`), unrated(refusal), path);
  }
  isRefused(
    t,
    await house.ask(`/console/api/workspaces/${house.workspaceId}/keys/key_${nobody}/history`),
    unrated(refusals.invalidKey),
    'with an API key',
  );
}
